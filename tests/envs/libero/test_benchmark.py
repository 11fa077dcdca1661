"""Episodes are the benchmark's own, to the bit."""

import numpy as np
import pytest

import yieldrl.envs.libero as libero

WAITING = [0, 0, 0, 0, 0, 0, -1]


def evaluate(env, task, number, seed, actions):
    """The loop of OpenVLA-OFT's `run_libero_eval.py`: what it sees, gets and does."""
    if env.sim._render_context_offscreen is not None:
        env.sim._render_context_offscreen.gl_ctx.make_current()  # is freed in it
    env.seed(seed)
    env.reset()
    obs = env.set_init_state(task.states()[number])
    for _ in range(10):
        obs, *_ = env.step(WAITING)
    seen, said = [obs], []
    for action in actions:
        obs, reward, done, _ = env.step(action.tolist())
        seen.append(obs)
        said.append((reward, done))
    return seen, said


def play(env, actions, **reset):
    obs, _ = env.reset(**reset)
    seen, said = [obs], []
    for action in actions:
        obs, reward, terminated, _, info = env.step(action)
        assert info["success"] is terminated
        seen.append(obs)
        said.append((reward, terminated))
    return seen, said


def as_oft_reads(obs):
    """`prepare_observation` of OpenVLA-OFT, without the resizing."""
    from robosuite.utils.transform_utils import quat2axisangle

    rotation = quat2axisangle(np.array(obs["robot0_eef_quat"]))
    state = obs["robot0_eef_pos"], rotation, obs["robot0_gripper_qpos"]
    return {
        "agentview": obs["agentview_image"][::-1, ::-1],
        "wrist": obs["robot0_eye_in_hand_image"][::-1, ::-1],
        "proprio": np.concatenate(state).astype(np.float32),
    }


def check_equal(found, expected):
    assert found[1] == expected[1]
    for ours, theirs in zip(found[0], expected[0], strict=True):
        theirs = as_oft_reads(theirs)
        np.testing.assert_array_equal(ours["rgb"]["agentview"], theirs["agentview"])
        np.testing.assert_array_equal(ours["rgb"]["wrist"], theirs["wrist"])
        np.testing.assert_array_equal(ours["proprio"], theirs["proprio"])


def test_episodes_are_those_of_the_published_evaluation(env, published, actions):
    (task,) = env.unwrapped.episodes.tasks
    chances = np.random.get_state()[1].copy()
    first = play(env, actions, seed=0)
    other = play(env, actions, seed=57)  # which comes to first state 7
    np.testing.assert_array_equal(np.random.get_state()[1], chances)
    check_equal(first, evaluate(published, task, 0, 0, actions))
    check_equal(other, evaluate(published, task, 7, 57, actions))
    assert first[0][0]["language"] == task.sentence
    assert not np.array_equal(first[0][0]["rgb"]["wrist"], first[0][3]["rgb"]["wrist"])
    again = play(env, actions, seed=0)  # with a simulator that has been used
    np.testing.assert_equal(again, first)


def test_success_fires_when_the_benchmark_says_so(env, published):
    (task,) = env.unwrapped.episodes.tasks
    env.reset(seed=0)
    found = drop_bowl(env.unwrapped.simulator.domain, lambda: env.step(WAITING)[1:3])
    evaluate(published, task, 0, 0, [])
    expected = drop_bowl(published.env, lambda: published.step(WAITING)[1:3])
    assert found == expected
    assert found[0] == (0.0, False)
    assert found[-1] == (1.0, True)


def drop_bowl(domain, step):
    """Put the bowl over the plate, and say what happens until it lies there."""
    x, y, z = domain.sim.data.get_body_xpos("plate_1_main")
    place = np.array([x, y, z + 0.08, 1, 0, 0, 0])
    domain.sim.data.set_joint_qpos("akita_black_bowl_1_joint0", place)
    said = [step()]
    while not said[-1][1]:
        assert len(said) < 40
        said.append(step())
    return said


def test_a_first_state_is_the_benchmarks(env):
    (task,) = env.unwrapped.episodes.tasks
    states = task.states()
    assert states.shape == (50, 92)
    inside = env.unwrapped
    inside.waiting_steps = 0
    for number in (3, 49):
        _, info = env.reset(options={"initial_state": number})
        assert info == {"task": 0, "success": False, "initial_state": number}
        sim = inside.simulator.domain.sim
        np.testing.assert_array_equal(sim.get_state().flatten(), states[number])
    _, info = env.reset()
    assert info["initial_state"] == 0  # after the last one
    inside.waiting_steps = 10


def test_what_cannot_be_is_refused(env):
    env.reset(seed=0)
    for action in (np.full(7, np.nan, np.float32), np.zeros(6, np.float32)):
        with pytest.raises(ValueError, match="give 7 finite numbers"):
            env.step(action)
    for options in ({"initial_state": 50}, {"task": 1}):
        with pytest.raises(ValueError, match=r"there are 0 to 0|has 0 to 49"):
            env.reset(options=options)


def test_things_placed_at_random(env):
    places = []
    for seed in (1, 2, 1):
        _, info = env.reset(seed=seed, options={"initial_state": "placed"})
        assert "initial_state" not in info
        domain = env.unwrapped.simulator.domain
        body = domain.obj_body_id["akita_black_bowl_1"]
        places.append(domain.sim.data.body_xpos[body].copy())
    assert places[0][:2] != pytest.approx(places[1][:2])
    np.testing.assert_array_equal(places[0], places[2])


def test_furniture_stands_where_the_benchmark_puts_it(make_published, actions):
    """Of a task with an open drawer, whose model is built twice before it begins."""
    suite, number = "libero_10", 3
    env = libero.LiberoEnvWrapper(suite=suite, task=number, cameras=())
    (task,) = env.episodes.tasks
    published = make_published(
        suite, number, use_camera_obs=False, has_offscreen_renderer=False
    )
    seen, said = evaluate(published, task, 0, 3, actions)
    found, heard = play(env, actions, seed=3, options={"initial_state": 0})
    assert heard == said
    names = env.simulator.objects
    assert len(names) == task.num_objects == env.observation_space["objects"].shape[0]
    for ours, theirs in zip(found, seen, strict=True):
        assert ours.keys() == {"proprio", "objects"}
        for row, name in zip(ours["objects"], names, strict=True):
            pose = np.concatenate((theirs[f"{name}_pos"], theirs[f"{name}_quat"]))
            np.testing.assert_array_equal(row, pose.astype(np.float32))
    body_pos = env.simulator.domain.sim.model.body_pos
    np.testing.assert_array_equal(body_pos, published.sim.model.body_pos)
    assert env.render() is None
    env.close()
    assert env.simulator is None
