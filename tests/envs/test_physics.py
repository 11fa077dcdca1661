"""MuJoCo's worlds in a batch are gymnasium's, v5."""

import math
import sys

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torch import Tensor

from yieldrl.envs import check

mujoco = pytest.importorskip("mujoco")

ROBOTS = ("HalfCheetah", "Hopper", "Walker2d", "InvertedPendulum", "Ant", "Humanoid")
SAME_STEP, NEXT_STEP = AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP
OPTIONS = {
    "HalfCheetah": {"forward_reward_weight": 2.0, "ctrl_cost_weight": 0.3},
    "Hopper": {
        "forward_reward_weight": 2.0,
        "ctrl_cost_weight": 0.3,
        "healthy_reward": 0.5,
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


def make(robot: str, num_envs: int = 1, **kwargs):
    return gymnasium.make_vec(f"yieldrl/{robot}-v1", num_envs=num_envs, **kwargs)


def gymnasiums(robot: str, **kwargs):
    return gymnasium.make(f"{robot}-v5", **kwargs).unwrapped


def state_of(envs, ours) -> dict[str, Tensor]:
    """The states of gymnasium's environments, as ours has them."""
    return {
        name: torch.as_tensor(np.stack([getattr(e.data, name) for e in envs], axis=-1))
        for name in ours.state
    }


def close(ours, theirs) -> None:
    """Equal to the rounding of sums that are taken in another order."""
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("options", [False, True], ids=["default", "options"])
@pytest.mark.parametrize("robot", ROBOTS)
def test_equals_gymnasium_step_by_step(robot: str, options: bool) -> None:
    kwargs = OPTIONS[robot] if options else {}
    n, rng = 3, np.random.default_rng(0)
    references = [gymnasiums(robot, **kwargs) for _ in range(n)]
    ours = make(robot, n, threads=2, **kwargs)
    ours.reset(seed=0)
    for i, reference in enumerate(references):
        reference.reset(seed=i)
    ends = 0
    high = references[0].action_space.high
    for _ in range(100):
        before = state_of(references, ours)
        action = rng.uniform(-high, high, (n, len(high)))
        rows = [e.step(a) for e, a in zip(references, action, strict=True)]
        after, reward, terminated = ours.dynamics(before, torch.as_tensor(action))
        for name, value in state_of(references, ours).items():
            assert torch.equal(after[name], value), name
        close(ours.observe(after), np.stack([row[0] for row in rows]))
        close(reward, [row[1] for row in rows])
        assert terminated.tolist() == [row[2] for row in rows]
        for reference, row in zip(references, rows, strict=True):
            if row[2]:
                ends += 1
                reference.reset()
    never = robot == "HalfCheetah" or (options and robot == "Walker2d")
    assert never == (ends == 0)


@pytest.mark.parametrize("robot", ROBOTS)
def test_free_running_equals_gymnasium(robot: str) -> None:
    """From one first state on, through contacts, without being put right."""
    n, rng = 2, np.random.default_rng(1)
    references = [gymnasiums(robot) for _ in range(n)]
    ours = make(robot, n, max_episode_steps=None)
    ours.reset(seed=0)
    obs = []
    for i, reference in enumerate(references):
        reference.reset(seed=i)
        qpos, qvel = (ours.state[name][:, i].numpy() for name in ("qpos", "qvel"))
        mujoco.mj_resetData(reference.model, reference.data)
        reference.set_state(qpos, qvel)
        obs.append(reference._get_obs())
    close(ours.observe(ours.state), np.stack(obs))
    high = references[0].action_space.high
    ours.restart = lambda ended, state, noise: state  # go on after a fall
    for _ in range(150):
        action = rng.uniform(-high, high, (n, len(high)))
        rows = [e.step(a) for e, a in zip(references, action, strict=True)]
        mine, reward, *_ = ours.step(action)
        close(mine, np.stack([row[0] for row in rows]))
        np.testing.assert_allclose(reward, [row[1] for row in rows], rtol=1e-5)
    assert torch.equal(ours.state["qpos"], state_of(references, ours)["qpos"])


@pytest.mark.parametrize("robot", ROBOTS)
def test_first_states_are_gymnasiums(robot: str) -> None:
    # A world with contact forces reserves some 15 MB of addresses: with too many of
    # them the system refuses a later test its subprocess.
    n, scale = (500 if robot in ("Ant", "Humanoid") else 4000), 0.1
    reference = gymnasiums(robot, reset_noise_scale=scale)
    envs = make(robot, n, reset_noise_scale=scale, max_episode_steps=1)
    envs.reset(seed=2)
    start = torch.as_tensor(reference.init_qpos).unsqueeze(-1)
    bound = 1.63 / math.sqrt(n)  # Kolmogorov, 1 %; 2.2 for all of up to 47 rows
    uniform = lambda x: (x / scale + 1) / 2  # noqa: E731
    normal = lambda x: torch.special.ndtr(x / scale)  # noqa: E731
    velocity = normal if robot in ("HalfCheetah", "Ant") else uniform
    for _ in range(2):  # those of `reset`, and those within a step
        position = uniform(envs.state["qpos"] - start)
        levels = torch.cat((position, velocity(envs.state["qvel"])))
        empirical = (torch.arange(n) + 0.5) / n
        gap = (levels.sort(dim=1).values - empirical).abs().amax(1)
        assert gap.max() < 2.2 / 1.63 * bound
        correlation = torch.corrcoef(levels) - torch.eye(len(levels))
        assert correlation.abs().max() < 5 / math.sqrt(n)
        assert not envs.state["qacc_warmstart"].any()
        envs.step(np.zeros(envs.action_space.shape))
    draws = []
    for seed in range(300):  # gymnasium's, to see that it is this distribution
        reference.reset(seed=seed)
        draws.append(np.r_[reference.data.qpos, reference.data.qvel])
    start = np.r_[reference.init_qpos, np.zeros(reference.model.nv)]
    theirs = torch.as_tensor(np.stack(draws, axis=-1) - start[:, None])
    nq = reference.model.nq
    levels = torch.cat((uniform(theirs[:nq]), velocity(theirs[nq:])))
    empirical = (torch.arange(300) + 0.5) / 300
    assert (levels.sort(dim=1).values - empirical).abs().max() < 2.2 / math.sqrt(300)


@pytest.mark.parametrize("robot", ROBOTS)
def test_spaces_are_gymnasiums(robot: str) -> None:
    for kwargs in ({}, OPTIONS[robot]):
        theirs, ours = gymnasiums(robot, **kwargs), make(robot, 3, **kwargs)
        assert ours.single_observation_space == theirs.observation_space
        assert ours.single_action_space == theirs.action_space
        assert ours.dt == theirs.dt
        obs, _ = ours.reset(seed=0)
        assert ours.observation_space.contains(obs.numpy())
    assert ours.spec.max_episode_steps == 1000
    assert ours.metadata["autoreset_mode"] is SAME_STEP
    spec, other = gymnasium.spec(f"{robot}-v5"), gymnasium.spec(f"yieldrl/{robot}-v1")
    assert spec.max_episode_steps == other.max_episode_steps
    assert spec.reward_threshold == other.reward_threshold


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("robot", ["Hopper", "Ant"])
def test_autoreset_equals_sync_vector_env(robot: str, mode: AutoresetMode) -> None:
    n, limit, rng = 6, 12, np.random.default_rng(1)
    kwargs = {"healthy_z_range": (0.4, 0.8)} if robot == "Ant" else {}
    one = lambda: gymnasium.make(  # noqa: E731
        f"{robot}-v5", max_episode_steps=limit, **kwargs
    )
    theirs = SyncVectorEnv([one] * n, autoreset_mode=mode)
    ours = make(robot, n, max_episode_steps=limit, autoreset_mode=mode, **kwargs)
    theirs.reset(seed=0)
    ours.reset(seed=0)
    seen, over = np.zeros(2), np.zeros(n, bool)
    for _ in range(50):
        ours.state = state_of([env.unwrapped for env in theirs.envs], ours)
        action = rng.uniform(-1, 1, theirs.action_space.shape)
        obs, reward, terminated, truncated, info = theirs.step(action)
        my_obs, my_reward, my_terminated, my_truncated, my_info = ours.step(action)
        assert my_terminated.tolist() == terminated.tolist()
        assert my_truncated.tolist() == truncated.tolist()
        np.testing.assert_allclose(my_reward, reward, rtol=1e-5, atol=1e-6)
        ended = terminated | truncated
        was_reset = {SAME_STEP: ended, NEXT_STEP: over}.get(mode, np.zeros(n, bool))
        close(my_obs[~was_reset], obs[~was_reset])
        for name in ("qpos", "qvel"):
            first = ours.state[name][:, was_reset]
            start = ours.init_qpos if name == "qpos" else 0
            assert ((first - start).abs() < 0.5).all()
        if mode is SAME_STEP:
            assert my_info["_final_obs"].tolist() == ended.tolist()
            final = obs.copy()
            if ended.any():
                final[ended] = np.stack(info["final_obs"][ended])
            close(my_info["final_obs"], final)
            close(my_obs, ours.observe(ours.state))
        if mode is AutoresetMode.DISABLED and ended.any():
            theirs.reset(options={"reset_mask": ended.copy()})
            ours.reset(options={"reset_mask": ended})
        over = ended if mode is NEXT_STEP else over
        seen += [terminated.any(), truncated.any()]
    assert (seen > 0).all()


@pytest.mark.parametrize("robot", ROBOTS)
def test_threads_do_not_matter_and_a_saved_state_continues_bitwise(robot: str) -> None:
    alone, together = (make(robot, 5, threads=t) for t in (1, 3))
    alone.reset(seed=4)
    together.reset(seed=4)
    rng = np.random.default_rng(0)
    saved, shape = {}, alone.action_space.shape
    for t in range(60):
        action = rng.uniform(-1, 1, shape)
        obs, *_ = alone.step(action)
        assert torch.equal(obs, together.step(action)[0])
        if t == 30:
            saved = together.state_dict()
            together = make(robot, 5)  # with other threads again
            together.load_state_dict(saved)
    assert all(
        torch.equal(alone.state[name], together.state[name]) for name in saved["state"]
    )


@pytest.mark.parametrize("robot", ROBOTS)
def test_keeps_the_promises_of_batched_environments(robot: str) -> None:
    check(make(robot, 3, threads=1))


def test_seeds_per_world() -> None:
    together = make("Ant", 3)
    obs, _ = together.reset(seed=[5, 6, 7])
    alone, _ = make("Ant", 1).reset(seed=[6])
    assert torch.equal(obs[1], alone[0])


def test_a_step_leaves_earlier_results_alone() -> None:
    envs = make("Humanoid", 2)
    obs, _ = envs.reset(seed=0)
    state, copy = envs.state, {k: v.clone() for k, v in envs.state.items()}
    first = obs.clone()
    envs.step(np.zeros((2, 17)))
    assert torch.equal(obs, first)
    assert all(torch.equal(state[name], copy[name]) for name in copy)


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="frame_skip = 0"):
        make("Hopper", 1, frame_skip=0)
    with pytest.raises(ValueError, match="threads = 0"):
        make("Hopper", 1, threads=0)
    with pytest.raises(ValueError, match="compile"):
        make("Hopper", 1, compile=True)
    with pytest.raises(ValueError, match="dtype"):
        make("Hopper", 1, dtype=torch.float32)
    with pytest.raises(OSError, match=r"nothing\.xml"):
        make("Hopper", 1, xml_file="nothing.xml")


def test_a_model_with_more_state_is_refused(tmp_path) -> None:
    file = tmp_path / "muscle.xml"
    file.write_text(
        """<mujoco><worldbody><body><joint name="j"/><geom size="1"/></body></worldbody>
        <actuator><general joint="j" dyntype="integrator"/></actuator></mujoco>"""
    )
    with pytest.raises(ValueError, match="activations"):
        make("HalfCheetah", 1, xml_file=str(file))


def test_without_mujoco_the_extra_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(ImportError, match=r"yieldrl\[mujoco\]"):
        make("Hopper")


def test_wrong_backend() -> None:
    with pytest.raises(ValueError, match="backend = 'brax'"):
        make("Hopper", 1, backend="brax")


@pytest.mark.slow
@pytest.mark.parametrize("robot", ROBOTS)
def test_warp_agrees_with_mujoco(robot: str) -> None:
    """One step from the same states, in float32. Ant's contacts are another matter."""
    n, rng = 8, np.random.default_rng(0)
    exact, warp = make(robot, n), make(robot, n, backend="warp")
    assert warp.single_observation_space.dtype == np.float32
    exact.reset(seed=0)
    obs, _ = warp.reset(seed=0)
    assert warp.observation_space.contains(obs.numpy())
    high, gaps = exact.single_action_space.high, []
    for _ in range(25):
        state = {name: x.float() for name, x in exact.state.items()}
        action = torch.as_tensor(rng.uniform(-high, high, (n, len(high))))
        after, reward, terminated = exact.dynamics(exact.state, action)
        mine, my_reward, my_terminated = warp.dynamics(state, action.float())
        gap = (mine["qpos"] - after["qpos"]).abs().amax(0)
        same = gap < 1e-5
        gaps.append(gap)
        torch.testing.assert_close(
            my_reward[same].double(), reward[same], rtol=1e-3, atol=1e-3
        )
        assert my_terminated[same].tolist() == terminated[same].tolist()
        exact.step(action)
        *_, info = warp.step(action.float())
        assert info["final_obs"].isfinite().all()
    gap = torch.stack(gaps)
    assert gap.max() < (0.1 if robot == "Ant" else 1e-4)
    assert gap.median() < 1e-6
