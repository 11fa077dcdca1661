"""CartPole on tensors is gymnasium's CartPole-v1."""

import math

import numpy as np
import pytest
import torch
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from hypothesis import example, given, settings
from hypothesis import strategies as st

import yieldrl.envs  # noqa: F401 (registers the environment)
from yieldrl.envs.classic_control import CartPoleVectorEnv


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
    with pytest.raises(
        TypeError, match=r"argument 'mass': of its own it has .*masspole"
    ):
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
