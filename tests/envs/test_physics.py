"""MuJoCo's worlds in a batch are gymnasium's, v5."""

import copy
import math
import sys

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.error import ClosedEnvironmentError, DependencyNotInstalled
from gymnasium.vector import AutoresetMode

import yieldrl.envs  # noqa: F401 (registers the environments)

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")

ROBOTS = ("HalfCheetah", "Hopper", "Walker2d", "InvertedPendulum", "Ant", "Humanoid")
SAME_STEP, NEXT_STEP = AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP
OPTIONS = {
    "HalfCheetah": {"forward_reward_weight": 2.0, "ctrl_cost_weight": 0.3},
    "Hopper": {
        "forward_reward_weight": 2.0,
        "ctrl_cost_weight": 0.3,
        "healthy_reward": 0.3,
        "healthy_state_range": (-3.0, 3.0),
        "healthy_z_range": (0.6, 1.3),
        "healthy_angle_range": (-0.3, 0.1),
    },
    "Walker2d": {"healthy_z_range": (1.1, 1.4), "healthy_angle_range": (-0.2, 0.1)},
    "InvertedPendulum": {"frame_skip": 4, "reset_noise_scale": 0.05},
    "Ant": {
        "contact_cost_weight": 0.1,
        "main_body": "aux_1",
        "healthy_z_range": (0.4, 0.7),
        "contact_force_range": (-3.0, 2.0),
        "include_cfrc_ext_in_observation": False,
    },
    "Humanoid": {
        "contact_cost_weight": 1e-3,
        "contact_cost_range": (1.0, 5.0),
        "healthy_reward": 2.0,
        "healthy_z_range": (1.3, 1.5),
        "include_cinert_in_observation": False,
        "include_cfrc_ext_in_observation": False,
    },
}
for robot in ROBOTS[:3] + ROBOTS[4:]:
    OPTIONS[robot] |= {"exclude_current_positions_from_observation": False}
    OPTIONS[robot] |= {"frame_skip": 3, "reset_noise_scale": 0.02}
for robot in ("Hopper", "Walker2d", "Ant", "Humanoid"):
    OPTIONS[robot] |= {"terminate_when_unhealthy": robot != "Walker2d"}


def make(robot, num_envs=1, dtype=torch.float64, **kwargs):
    env_id = f"yieldrl/{robot}-v1"
    return gymnasium.make_vec(env_id, num_envs=num_envs, dtype=dtype, **kwargs)


def gymnasiums(robot, **kwargs):
    return gymnasium.make(f"{robot}-v5", **kwargs).unwrapped


def state_of(envs, world):
    """The states of Gymnasium's environments, as `world` has them."""
    return {
        name: torch.as_tensor(np.stack([getattr(e.data, name) for e in envs], axis=-1))
        for name in world.state
    }


def close(world, original):
    """Equal to the rounding of sums that are taken in another order."""
    np.testing.assert_allclose(world, original, rtol=1e-12, atol=1e-12)


def beside(references, world, steps):
    """Steps of Gymnasium's environments, and of `world` from the same states.

    Yields those states, the actions, and what both answer.
    """
    rng, high = np.random.default_rng(0), references[0].action_space.high
    for _ in range(steps):
        before = state_of(references, world)
        action = torch.as_tensor(rng.uniform(-high, high, (len(references), len(high))))
        rows = [e.step(a.numpy()) for e, a in zip(references, action, strict=True)]
        after, reward, terminated = world.dynamics(before, action)
        for name, value in state_of(references, world).items():
            assert torch.equal(after[name], value), name
        close(reward, [row[1] for row in rows])
        assert terminated.tolist() == [row[2] for row in rows]
        yield before, action, rows, after


@pytest.mark.parametrize("robot", ROBOTS)
def test_equals_gymnasium_step_by_step(robot):
    for kwargs in ({}, OPTIONS[robot]):
        references = [gymnasiums(robot, **kwargs) for _ in range(3)]
        world = make(robot, 3, threads=2, **kwargs)
        assert world.single_observation_space == references[0].observation_space
        assert world.single_action_space == references[0].action_space
        assert world.dt == references[0].dt
        obs, _ = world.reset(seed=0)
        assert world.observation_space.contains(obs.numpy())
        for i, reference in enumerate(references):
            reference.reset(seed=i)
        ends = 0
        for *_, rows, after in beside(references, world, 100):
            close(world.observe(after), np.stack([row[0] for row in rows]))
            for reference, row in zip(references, rows, strict=True):
                if row[2]:
                    ends += 1
                    reference.reset()
        never = robot == "HalfCheetah" or (kwargs and robot == "Walker2d")
        assert bool(never) == (ends == 0)
    spec, other = gymnasium.spec(f"{robot}-v5"), gymnasium.spec(f"yieldrl/{robot}-v1")
    assert spec.max_episode_steps == other.max_episode_steps == 1000
    assert spec.reward_threshold == other.reward_threshold


@pytest.mark.parametrize("robot", ROBOTS)
def test_free_running_equals_gymnasium(robot):
    """From one first state on, through contacts, without being put right."""
    n, rng = 2, np.random.default_rng(1)
    references = [gymnasiums(robot) for _ in range(n)]
    world = make(robot, n, max_episode_steps=None)
    world.reset(seed=0)
    obs = []
    for i, reference in enumerate(references):
        reference.reset(seed=i)
        qpos, qvel = (world.state[name][:, i].numpy() for name in ("qpos", "qvel"))
        mujoco.mj_resetData(reference.model, reference.data)
        reference.set_state(qpos, qvel)
        obs.append(reference._get_obs())
    close(world.observe(world.state), np.stack(obs))
    high = references[0].action_space.high
    world.restart = lambda ended, state, noise: state  # go on after a fall
    for _ in range(80):
        action = rng.uniform(-high, high, (n, len(high)))
        rows = [e.step(a) for e, a in zip(references, action, strict=True)]
        mine, reward, _, _, info = world.step(action)
        close(mine, np.stack([row[0] for row in rows]))
        names = {x for x in rows[0][4] if x[1:] == "_velocity" or x[:7] == "reward_"}
        assert set(info) == {*names, "final_obs", "_final_obs"}
        for name in names:
            close(info[name], [row[4][name] for row in rows])
        np.testing.assert_allclose(reward, [row[1] for row in rows], rtol=1e-5)
    assert torch.equal(world.state["qpos"], state_of(references, world)["qpos"])


@pytest.mark.parametrize("robot", ROBOTS)
def test_first_states_are_gymnasiums(robot):
    n, scale = 1000, 0.1
    reference = gymnasiums(robot, reset_noise_scale=scale)
    envs = make(robot, n, reset_noise_scale=scale, max_episode_steps=1)
    envs.reset(seed=2)
    start = torch.as_tensor(reference.init_qpos).unsqueeze(-1)
    bound = 2.2 / math.sqrt(n)  # Kolmogorov, 1 % for all of up to 47 rows
    uniform = lambda x: (x / scale + 1) / 2  # noqa: E731
    normal = lambda x: torch.special.ndtr(x / scale)  # noqa: E731
    velocity = normal if robot in ("HalfCheetah", "Ant") else uniform
    for _ in range(2):  # those of `reset`, and those within a step
        position = uniform(envs.state["qpos"] - start)
        levels = torch.cat((position, velocity(envs.state["qvel"])))
        empirical = (torch.arange(n) + 0.5) / n
        gap = (levels.sort(dim=1).values - empirical).abs().amax(1)
        assert gap.max() < bound
        correlation = torch.corrcoef(levels) - torch.eye(len(levels))
        assert correlation.abs().max() < 5 / math.sqrt(n)
        assert not envs.state["qacc_warmstart"].any()
        envs.step(np.zeros(envs.action_space.shape))


@pytest.mark.parametrize("robot", ["Hopper", "Humanoid"])
def test_threads_do_not_matter_and_a_saved_state_continues_bitwise(robot):
    alone, together = (make(robot, 5, threads=t) for t in (1, 3))
    alone.reset(seed=4)
    together.reset(seed=4)
    rng = np.random.default_rng(0)
    for t in range(60):
        action = rng.uniform(-1, 1, alone.action_space.shape)
        obs, *_ = alone.step(action)
        assert torch.equal(obs, together.step(action)[0])
        if t == 30:
            saved = together.state_dict()
            together = make(robot, 5)  # with other threads again
            together.load_state_dict(saved)
    torch.testing.assert_close(alone.state, together.state, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("kwargs", "error", "word"),
    [
        ({"frame_skip": 0}, ValueError, "frame_skip"),
        ({"compile": True}, ValueError, "compile"),
        ({"dtype": torch.float16}, ValueError, "dtype"),
        ({"xml_file": "nothing.xml"}, OSError, "nothing"),
        ({"backend": "brax"}, ValueError, "backend"),
        ({"mass_scale": torch.ones(2)}, ValueError, "mass_scale has the shape"),
        ({"friction_scale": -1.0}, ValueError, "friction_scale"),
        (
            {"model_fields": {"stat.center": torch.ones(3, 3)}},
            ValueError,
            "lets no world have its stat.center",
        ),
    ],
)
def test_what_cannot_be_is_refused(kwargs, error, word, tmp_path):
    with pytest.raises(error, match=word):
        make("Hopper", 3, **kwargs)
    for field in ("colour", "nq", "body_mass"):
        with pytest.raises(ValueError, match=field):
            make("Hopper", 3).set_parameters({field: torch.ones(3, 4)})
    file = tmp_path / "muscle.xml"
    file.write_text(
        """<mujoco><worldbody><body><joint name="j"/><geom size="1"/></body></worldbody>
        <actuator><general joint="j" dyntype="integrator"/></actuator></mujoco>"""
    )
    with pytest.raises(ValueError, match="activations"):
        make("HalfCheetah", 1, xml_file=str(file))


HEAP = """<mujoco><size memory="{}K"/><worldbody><geom type="plane" size="5 5 1"/>
<body><joint name="j"/><geom size="0.1"/></body>{}</worldbody>
<actuator><motor joint="j"/></actuator></mujoco>"""
BALL = '<body pos="0 0 0.09"><freejoint/><geom size="0.1"/></body>'


@pytest.mark.parametrize(
    ("kilobytes", "said"),
    [
        (24, "MuJoCo failed in 2 of 2 worlds: .*out of memory"),
        (150, 'need more memory: give its file a line like <size memory="15M"/>'),
    ],
)
def test_a_heap_of_many_bodies_needs_memory(kilobytes, said, tmp_path, monkeypatch):
    """Contacts that were dropped would let bodies fall through each other."""
    monkeypatch.chdir(tmp_path)  # for MuJoCo's own log
    file = tmp_path / "heap.xml"
    file.write_text(HEAP.format(kilobytes, 30 * BALL))
    envs = make("HalfCheetah", 2, xml_file=str(file))
    with pytest.raises(RuntimeError, match=said):
        envs.reset(seed=0)  # which tries a step


def test_a_clock_that_was_installed_goes_on():
    times = []

    def clock():
        times.append(0.001 * len(times))
        return times[-1]

    mujoco.set_mjcb_time(clock)
    try:
        envs = make("Hopper")
        envs.reset(seed=0)
        times.clear()
        envs.step(np.zeros((1, 3)))
        assert times, "it was asked in the step"
        envs.close()
    finally:
        mujoco.set_mjcb_time(None)
        make("Hopper").close()  # which stops MuJoCo's own again


def test_fields_that_a_robot_has_none_of_are_left_out():
    envs = make("Hopper", 2)
    envs.set_parameters({"tendon_stiffness": torch.zeros(2, 0), "gravity": 5.0})
    assert envs.backend.varied.keys() == {"opt.gravity"}


def test_a_step_leaves_earlier_results_alone():
    envs = make("Humanoid", 2)
    obs, _ = envs.reset(seed=0)
    given = obs, envs.state
    before = copy.deepcopy(given)
    envs.step(np.zeros((2, 17)))
    torch.testing.assert_close(given, before, rtol=0, atol=0)


def test_without_mujoco_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(ImportError, match=r"yieldrl\[mujoco\]"):
        make("Hopper")


def test_observations_are_float32_unless_float64_is_asked_for():
    exact, envs = make("Hopper", 2), make("Hopper", 2, torch.float32)
    exact.reset(seed=0)
    obs, _ = envs.reset(seed=0)
    assert envs.observation_space.contains(obs.numpy())
    for _ in range(20):
        action = torch.rand(2, 3)
        rounded = exact.step(action)[0].float()
        assert torch.equal(envs.step(action)[0], rounded)
    assert envs.state["qpos"].dtype is torch.float64
    assert torch.equal(envs.state["qpos"], exact.state["qpos"])


VARIED = {
    "gravity": (3.7, 9.81, 24.8),
    "mass_scale": (0.5, 1.0, 2.5),
    "friction_scale": (0.3, 2.0, 1.0),
    "damping_scale": (3.0, 0.0, 0.5),
    "gear_scale": (1.5, 0.7, 0.0),
}
"""A value for each of three worlds."""


def edit(model, **values):
    """What the parameters mean, in gymnasium's model."""
    values = dict.fromkeys(VARIED, 1.0) | values
    model.opt.gravity[:] = 0, 0, -values["gravity"]
    model.body_mass[:] *= values["mass_scale"]
    model.body_inertia[:] *= values["mass_scale"]
    model.geom_friction[:] *= values["friction_scale"]
    model.dof_damping[:] *= values["damping_scale"]
    model.actuator_gear[:] *= values["gear_scale"]
    mujoco.mj_setConst(model, mujoco.MjData(model))


@pytest.mark.parametrize("robot", ["HalfCheetah", "Ant", "Humanoid"])
def test_varied_worlds_equal_edited_models(robot):
    references = [gymnasiums(robot) for _ in range(3)]
    for i, reference in enumerate(references):
        edit(reference.model, **{name: VARIED[name][i] for name in VARIED})
        reference.reset(seed=i)
    varied = {k: torch.tensor(VARIED[k], dtype=torch.float64) for k in VARIED}
    world, plain, differs = make(robot, 3, **varied), make(robot, 3), 0
    world.reset(seed=0)
    for before, action, _, after in beside(references, world, 60):
        unvaried, *_ = plain.dynamics(before, action)
        differs += (unvaried["qpos"] != after["qpos"]).any(0)
    assert (differs > 50).all()


def test_any_field_can_be_varied_and_at_any_time():
    """Here the size and the place of the torso's parts."""
    references, world = [gymnasiums("Ant") for _ in range(2)], make("Ant", 2)
    world.reset(seed=0)
    model, sizes = references[0].model, torch.tensor([0.8, 1.3]).double()
    fields = {
        name: torch.tensor(getattr(model, name)) * sizes.view(2, 1, 1)
        for name in ("body_pos", "geom_size")
    }
    world.step(torch.zeros(world.action_space.shape))
    world.set_parameters({**fields, "gravity": 5.0})
    world.set_parameters({"mass_scale": 2.0})  # gravity and sizes stay
    for i, reference in enumerate(references):
        for name, values in fields.items():
            getattr(reference.model, name)[:] = values[i]
        edit(reference.model, gravity=5.0, mass_scale=2.0)
        reference.reset(seed=i)
    assert sum(1 for _ in beside(references, world, 40)) == 40


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_a_varied_world_begins_anew_as_itself(mode):
    mass = torch.tensor(VARIED["mass_scale"], dtype=torch.float64)
    world = make("Humanoid", 3, mass_scale=mass, autoreset_mode=mode)
    world.reset(seed=0)
    world.elapsed[2] = world.max_episode_steps - 1
    for _ in range(1 if mode is AutoresetMode.SAME_STEP else 2):
        world.step(torch.zeros(world.action_space.shape))
    heavy = world.backend.fields(world.state)["cinert"][..., 2]
    assert torch.equal(world.state["cinert"][..., 2], heavy)
    assert not torch.equal(world.backend.fields(world.state)["cinert"][..., 0], heavy)


def test_what_is_closed_stays_closed():
    for robot in ("Ant", "Hopper"):
        closed = make(robot, 1)
        closed.reset(seed=0)
        closed.close()
        closed.close()
        with pytest.raises(ClosedEnvironmentError):
            closed.step(torch.zeros(closed.action_space.shape))
        with pytest.raises(ClosedEnvironmentError):
            closed.reset()
        with pytest.raises(ClosedEnvironmentError):
            closed.set_parameters({"gravity": 1.0})


@pytest.mark.parametrize(
    ("platform", "screen", "chosen"),
    [
        ("darwin", {}, "cgl"),
        ("win32", {}, "glfw"),
        ("linux", {}, "egl"),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, "glfw"),
        ("linux", {"DISPLAY": ":0", "MUJOCO_GL": "OSMesa"}, "osmesa"),
    ],
)
def test_pictures_are_drawn_by_what_there_is(platform, screen, chosen, monkeypatch):
    from yieldrl.envs.physics.picture import opengl

    monkeypatch.setattr(sys, "platform", platform)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "MUJOCO_GL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in screen.items():
        monkeypatch.setenv(name, value)
    assert opengl() == chosen


@pytest.fixture
def draws():
    """Skips where MuJoCo cannot draw, and says why."""
    from yieldrl.envs.physics.picture import Painter

    try:
        Painter(mujoco.MjModel.from_xml_string("<mujoco/>"), {}, 8, 8).close()
    except DependencyNotInstalled as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize(
    "robot",
    ["Hopper", "InvertedPendulum", pytest.param("Humanoid", marks=pytest.mark.slow)],
)
def test_pictures_are_gymnasiums(robot, draws, monkeypatch):
    """Of the same state, seen from the same place."""
    from yieldrl.envs.physics.picture import opengl

    monkeypatch.setenv("MUJOCO_GL", opengl())
    reference = gymnasium.make(f"{robot}-v5", render_mode="rgb_array").unwrapped
    envs = make(robot, 3, render_mode="rgb_array")
    assert envs.metadata["render_fps"] == reference.metadata["render_fps"]
    envs.reset(seed=0)
    for _ in range(10):
        envs.step(2 * torch.rand(envs.action_space.shape) - 1)
    first, second, third = envs.render()
    assert first.shape == (480, 480, 3)
    assert first.dtype == np.uint8
    assert not np.array_equal(first, second)
    (again,) = envs.render([2])
    np.testing.assert_array_equal(again, third)
    qpos, qvel = (envs.state[name][:, 2].numpy() for name in ("qpos", "qvel"))
    reference.reset(seed=0)
    reference.set_state(qpos, qvel)
    reference.render()
    eye = reference.mujoco_renderer.viewer.cam
    for name, value in envs.camera.items():
        if name not in ("type", "trackbodyid"):  # gymnasium's stays where it is
            setattr(eye, name, value)
    if "lookat" not in envs.camera:
        eye.lookat[:] = reference.data.subtree_com[1]
    original = reference.render()
    np.testing.assert_array_equal(original, third)
    # In this order, for gymnasium frees whatever is in its place by then.
    reference.mujoco_renderer.viewer.make_context_current()
    reference.mujoco_renderer.viewer.con.free()
    reference.close()
    envs.close()


@pytest.mark.slow
def test_pictures_follow_the_robot_and_show_its_own_model(draws):
    envs = make("Hopper", 2, width=60, height=40, render_mode="rgb_array")
    envs.reset(seed=0)
    envs.state = {k: x[:, :1].expand(-1, 2).clone() for k, x in envs.state.items()}
    these = envs.render()
    assert these[0].shape == (40, 60, 3)
    np.testing.assert_array_equal(*these)
    robot = lambda picture: picture[:25, 25:35].astype(int)  # noqa: E731
    envs.state["qpos"][0, 1] += 4.0  # the floor's pattern repeats
    assert np.abs(robot(envs.render()[1]) - robot(these[1])).mean() < 10
    envs.state["qpos"][0, 1] -= 4.0
    size = torch.tensor(envs.model.geom_size).expand(2, -1, -1).clone()
    size[1, 1:] *= 2
    envs.set_parameters({"geom_size": size})
    thin, thick = envs.render()
    np.testing.assert_array_equal(thin, these[0])
    assert np.abs(robot(thick) - robot(thin)).mean() > 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("robot", "varied"), [("Hopper", True), ("Ant", False), ("Humanoid", False)]
)
def test_warp_agrees_with_mujoco(robot, varied):
    """One step from the same states, in float32. Ant's contacts are another matter."""
    pytest.importorskip("mujoco_warp", reason="MuJoCo Warp is not installed")
    with pytest.raises(ValueError, match="dtype"):
        make(robot, 1, torch.float64, backend="warp")
    n, rng = 3, np.random.default_rng(0)
    kwargs = {k: torch.tensor(VARIED[k]) for k in VARIED} if varied else {}
    exact = make(robot, n, **kwargs)
    warp = make(robot, n, torch.float32, backend="warp")
    assert warp.single_observation_space.dtype == np.float32
    exact.reset(seed=0)
    obs, _ = warp.reset(seed=0)
    assert warp.observation_space.contains(obs.numpy())
    if varied:
        warp.set_parameters(kwargs)
    plain, high, gaps = make(robot, n), exact.single_action_space.high, []
    for _ in range(10):
        state = {name: x.float() for name, x in exact.state.items()}
        action = torch.as_tensor(rng.uniform(-high, high, (n, len(high))))
        after, reward, terminated = exact.dynamics(exact.state, action)
        mine, my_reward, my_terminated = warp.dynamics(state, action.float())
        gap = (mine["qpos"] - after["qpos"]).abs().amax(0)
        same = gap < 1e-5
        gaps.append(gap)
        kept = {"rtol": 1e-3, "atol": 1e-3}
        torch.testing.assert_close(my_reward[same].double(), reward[same], **kept)
        assert my_terminated[same].tolist() == terminated[same].tolist()
        unvaried, *_ = plain.dynamics(exact.state, action)
        others = (mine["qpos"] - unvaried["qpos"]).abs().amax(0)
        assert not varied or others.min() > 1e-5
        exact.step(action)
        *_, info = warp.step(action.float())
        assert info["final_obs"].isfinite().all()
    gap = torch.stack(gaps)
    assert gap.max() < (0.1 if robot == "Ant" else 1e-4)
    assert gap.median() < 1e-6
    warp.close()
    with pytest.raises(ClosedEnvironmentError):
        warp.reset()
