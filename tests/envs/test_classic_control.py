"""The classic worlds on tensors are gymnasium's; CartPole is so anywhere."""

import math
import sys

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from hypothesis import example, given, settings
from hypothesis import strategies as st
from worlds import TorchSines

import yieldrl.envs  # noqa: F401 (registers the environments)
from yieldrl.envs.batched import Parameter
from yieldrl.envs.classic_control import (
    AcrobotVectorEnv,
    CartPoleVectorEnv,
    MountainCarContinuousVectorEnv,
    MountainCarVectorEnv,
    PendulumVectorEnv,
)

PI = math.pi
ORIGINALS = {
    CartPoleVectorEnv: "CartPole-v1",
    PendulumVectorEnv: "Pendulum-v1",
    AcrobotVectorEnv: "Acrobot-v1",
    MountainCarVectorEnv: "MountainCar-v0",
    MountainCarContinuousVectorEnv: "MountainCarContinuous-v0",
}
HIGHEST = {  # states to look at, and beyond
    CartPoleVectorEnv: [3, 10, 0.5, 10],
    PendulumVectorEnv: [20, 8],
    AcrobotVectorEnv: [PI, PI, 4 * PI, 9 * PI],
    MountainCarVectorEnv: [1.2, 0.07],
    MountainCarContinuousVectorEnv: [1.2, 0.07],
}


def constants(world):
    """The numbers of its physics, which may differ between environments."""
    names = [name for name, kind in world.declared().items() if kind == Parameter]
    numbers = {name: getattr(world, name) for name in names}
    if world is MountainCarContinuousVectorEnv:
        numbers["power"] = numbers.pop("force")
    return {k: v for k, v in numbers.items() if v > 0 and not k.startswith("high")}


each = pytest.mark.parametrize("world", ORIGINALS)


def original(world):
    return gymnasium.make(ORIGINALS[world]).unwrapped


def anything(envs, seed):
    """States from everywhere `[D, N]` and actions, some of them out of bounds."""
    rng = np.random.default_rng(seed)
    high = np.array(HIGHEST[type(envs)])[:, None]
    state = rng.uniform(-high, high, (len(high), envs.num_envs))
    if isinstance(envs, MountainCarVectorEnv):
        state[0] = rng.choice(
            [-1.2, -1.15, 0.43, 0.5, 0.6, *state[0, :9]], state[0].shape
        )
    envs.action_space.seed(seed)
    action = envs.action_space.sample()
    if action.dtype == np.float32:  # in which gymnasium would round the torque
        action = action.astype(np.float64) * 1.3
    return torch.as_tensor(state), action


@each
def test_equals_gymnasium_step_by_step(world, monkeypatch):
    n = 30
    reference = original(world)
    TorchSines.replace(monkeypatch, sys.modules[type(reference).__module__])
    reference.reset(seed=0)
    envs = world(n, dtype=torch.float64)
    envs.reset(seed=0)
    ulps, ends, played = [], 0, envs.state
    for t in range(80):
        state, action = anything(envs, t)
        state = state if t % 2 else played
        played, reward, terminated = envs.dynamics(state, torch.as_tensor(action))
        rows = []
        for i in range(n):
            reference.state = state[:, i].numpy().copy()
            reference.steps_beyond_terminated = None  # of CartPole
            rows.append((*reference.step(action[i])[1:3], np.array(reference.state)))
        expected = np.stack([row[2] for row in rows], axis=1)
        np.testing.assert_allclose(reward, [row[0] for row in rows], rtol=1e-14)
        assert terminated.tolist() == [row[1] for row in rows]
        ends += sum(terminated.tolist())
        after = played.numpy().astype(expected.dtype)  # float32 in one of them
        largest = np.maximum(np.abs(state.numpy()), np.abs(expected))
        if isinstance(envs, MountainCarVectorEnv):  # what a slope adds was rounded too
            largest = np.maximum(largest, float(envs.gravity))
        ulps.append(np.abs(after - expected) / np.spacing(largest.astype(after.dtype)))
    # Acrobot takes twenty sines in a step, and as many squares, which NumPy rounds its
    # own way too; at 30 rad/s what they multiply is large.
    off = np.array(ulps) > 1
    if world is AcrobotVectorEnv:
        assert off.mean() < 0.0005
        assert np.max(ulps) <= 16
    else:
        assert not off.any()
    assert (ends > 0) == (world is not PendulumVectorEnv)


@each
def test_registered_as_gymnasiums(world):
    gymnasiums = gymnasium.spec(ORIGINALS[world])
    name = f"yieldrl/{gymnasiums.name}-v1"
    tested = gymnasium.make_vec(name, num_envs=3)
    assert isinstance(tested, world)
    assert tested.max_episode_steps == gymnasiums.max_episode_steps
    assert gymnasium.spec(name).reward_threshold == gymnasiums.reward_threshold
    assert world().max_episode_steps == gymnasiums.max_episode_steps
    env = original(world)
    assert tested.single_observation_space == env.observation_space
    assert tested.single_action_space == env.action_space
    assert tested.metadata["render_fps"] == env.metadata["render_fps"]


@each
def test_observes_what_gymnasium_observes(world):
    reference = original(world)
    envs = world(20, dtype=torch.float64)
    envs.reset(seed=0)
    envs.state, action = anything(envs, 0)
    obs, *_ = envs.step(action.astype(np.float32) if action.ndim > 1 else action)
    for i in range(20):
        reference.reset(seed=0)
        reference.state = envs.state[:, i].numpy()
        if world is PendulumVectorEnv:
            expected = reference._get_obs()
        elif world is AcrobotVectorEnv:
            expected = reference._get_ob()
        else:
            expected = reference.state.astype(np.float32)
        np.testing.assert_allclose(obs[i], expected, rtol=1e-6, atol=1e-7)


@each
def test_first_states_have_gymnasiums_distribution(world):
    n, m = 20_000, 2_000
    reference = original(world)
    reference.reset(seed=1)
    gymnasiums = []
    for _ in range(m):
        reference.reset()
        gymnasiums.append(np.array(reference.state))
    envs = world(n, max_episode_steps=1)
    envs.reset(seed=0)
    envs.step(envs.action_space.sample())  # every step resets
    tested = envs.state.numpy()
    moves = tested.std(axis=1) > 0
    assert (np.std(gymnasiums, axis=0) > 0).tolist() == moves.tolist()
    for row, column in zip(tested, np.transpose(gymnasiums), strict=True):
        # Kolmogorov and Smirnov's distance of two samples, at one per cent.
        at = np.sort(column)
        distance = np.searchsorted(np.sort(row), at, side="right") / n
        distance = np.abs(distance - np.arange(1, m + 1) / m)
        if row.std() > 0:
            assert distance.max() < 1.63 * math.sqrt((n + m) / (n * m))
        else:
            assert (row == column[0]).all()
    correlation = np.corrcoef(tested[moves]).reshape(moves.sum(), -1)
    assert np.abs(correlation - np.eye(moves.sum())).max() < 4 / math.sqrt(n)


@each
def test_gradient_of_a_step_equals_finite_differences(world):
    envs = world(3, dtype=torch.float64)
    envs.reset(seed=0)
    start = envs.state / 2  # away from walls and limits
    floats = envs._action_reader.dtype.is_floating_point
    action = torch.full(envs.action_space.shape, 0.3).to(envs._action_reader.dtype)

    def step(state, action):
        envs.state = state
        _, reward, *_ = envs.step(action)
        # Rewards are float32, too coarse for differences: so the exact one as well.
        exact = envs.dynamics(state, action)[1].to(torch.float64)
        torch.testing.assert_close(reward, exact.float())
        return (envs.state, exact) if exact.requires_grad else (envs.state,)

    start.requires_grad_()
    assert torch.autograd.gradcheck(step, (start, action.requires_grad_(floats)))


@each
def test_constants_per_environment_equal_separate_environments(world):
    n, rng = 4, np.random.default_rng(0)
    assert constants(world)
    drawn = {
        k: torch.as_tensor(v * rng.uniform(0.7, 1.4, n))
        for k, v in constants(world).items()
    }
    together = world(n, dtype=torch.float64, **drawn)
    together.reset(seed=list(range(n)))
    for i in range(n):
        own = {k: float(v[i]) for k, v in drawn.items()}
        alone = world(1, dtype=torch.float64, **own)
        alone.reset(seed=[i])
        column = together.state[:, i : i + 1]
        torch.testing.assert_close(alone.state, column)
        action = torch.zeros(alone.action_space.shape).to(alone._action_reader.dtype)
        moved, reward, _ = alone.dynamics(column, action)
        every = action.expand(n, *action.shape[1:])
        expected, rewards, _ = together.dynamics(together.state, every)
        torch.testing.assert_close(moved, expected[:, i : i + 1])
        torch.testing.assert_close(reward, rewards[i : i + 1])
    plain = world(8, dtype=torch.float64)
    plain.reset(seed=0)
    state, action = anything(plain, 3)
    expected, *_ = plain.dynamics(state * 0.4, torch.as_tensor(action))
    for name, value in constants(world).items():  # each has an effect
        with pytest.raises(ValueError, match="give one number, or 2 of them"):
            world(2, **{name: torch.ones(3)})
        other = world(8, dtype=torch.float64, **{name: 1.2 * value})
        moved, *_ = other.dynamics(state * 0.4, torch.as_tensor(action))
        assert not torch.equal(moved, expected)


@pytest.mark.parametrize("world", ORIGINALS)
def test_render_is_gymnasiums(world):
    pytest.importorskip("pygame", reason="pygame is not installed")
    envs = world(2, render_mode="rgb_array")
    envs.reset(seed=0)
    envs.state, _ = anything(envs, 0)
    frames = envs.render()
    reference = gymnasium.make(ORIGINALS[world], render_mode="rgb_array").unwrapped
    reference.reset(seed=0)
    for i in (1, 0):
        reference.state = envs.state[:, i].numpy()
        np.testing.assert_array_equal(envs.render([i])[0], frames[i])
        np.testing.assert_array_equal(reference.render(), frames[i])
    assert frames[0].dtype == np.uint8
    assert not np.array_equal(*frames)


@example(state=(2.4, 0, 0, 0), action=0)
@example(state=(-2.4 - 1e-15, 0, 0, 0), action=0)
@example(state=(0, 0, 12 * 2 * math.pi / 360, 0), action=1)
@example(state=(0, 0, 12 * 2 * math.pi / 360 + 1e-16, 0), action=1)
@settings(max_examples=200)
@given(
    state=st.tuples(*[st.floats(-m, m) for m in (3, 10, 0.5, 10)]),
    action=st.integers(0, 1),
)
@pytest.mark.parametrize("sutton_barto_reward", [False, True])
def test_equals_gymnasium_anywhere(sutton_barto_reward, state, action):
    options = {"sutton_barto_reward": sutton_barto_reward}
    envs = CartPoleVectorEnv(1, dtype=torch.float64, **options)
    column = torch.tensor(state, dtype=torch.float64).unsqueeze(-1)
    found = envs.dynamics(column, torch.tensor([action]))
    reference = CartPoleEnv(**options)
    reference.state = np.array(state)
    _, *expected, _, _ = reference.step(action)
    np.testing.assert_allclose(found[0][:, 0], reference.state, rtol=1e-14, atol=1e-14)
    assert [part.item() for part in found[1:]] == expected


def test_constants_can_be_learnt():
    masspole = torch.tensor(0.1, requires_grad=True)
    envs = CartPoleVectorEnv(4, masspole=masspole)
    envs.reset(seed=0)
    for _ in range(2):  # the graph is built anew in every step
        obs, *_ = envs.step(torch.tensor([0, 1, 0, 1]))
        (gradient,) = torch.autograd.grad(obs[:, 1].abs().sum(), masspole)
        assert gradient != 0
        envs.detach()


def test_without_velocities_two_numbers_are_left():
    envs, blind = (CartPoleVectorEnv(5, velocities=flag) for flag in (True, False))
    assert blind.single_observation_space.shape == (2,)
    assert blind.observation_space.shape == (5, 2)
    (obs, _), (seen, _) = (e.reset(seed=0) for e in (envs, blind))
    with pytest.raises(TypeError, match=r"'mass': of its own it has .*masspole"):
        CartPoleVectorEnv(mass=1)
    for _ in range(30):
        assert torch.equal(seen, obs[:, ::2])
        action = torch.randint(2, (5,))
        obs, *_, info = envs.step(action)
        seen, *_, seen_info = blind.step(action)
        assert torch.equal(seen_info["final_obs"], info["final_obs"][:, ::2])
        assert torch.equal(blind.state, envs.state)


def test_a_longer_pole_is_drawn_longer():
    pytest.importorskip("pygame", reason="pygame is not installed")
    length = torch.tensor([0.5, 1])
    envs = CartPoleVectorEnv(2, render_mode="rgb_array", length=length)
    envs.reset(seed=0)
    short, long = ((x == (202, 152, 101)).all(-1).sum() for x in envs.render())
    assert long > 1.8 * short > 1000
