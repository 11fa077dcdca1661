"""Experts are found where they are, and not mistaken for others'."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorWrapper
from gymnasium.wrappers import RescaleAction, TimeLimit

from yieldrl.envs import SerialVectorEnv, expert_actions, wrappers
from yieldrl.envs.grid_world import GoToVectorEnv
from yieldrl.envs.processes import ProcessVectorEnv


class Middle(gym.Env):
    """Its expert goes to the middle from where it is."""

    observation_space = Box(-1, 1, (1,))
    action_space = Box(-2, 2, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.uniform(-1, 1, 1).astype(np.float32)
        return self.place, {}

    def step(self, action):
        self.place = np.clip(self.place + action, -1, 1)
        return self.place, 0.0, False, False, {}

    def expert(self):
        return -self.place.astype(np.float64)


class Halved(gym.ActionWrapper):
    """Actions are twice as large inside; it knows, and translates its expert."""

    def __init__(self, env):
        super().__init__(env)
        self.action_space = Box(-1, 1, (1,), np.float32)

    def action(self, action):
        return 2 * action

    def expert(self):
        return self.env.unwrapped.expert() / 2


@pytest.mark.parametrize(
    "make",
    [
        lambda parts: SyncVectorEnv(parts, autoreset_mode=AutoresetMode.SAME_STEP),
        lambda parts: ProcessVectorEnv(parts[:1]),
        lambda parts: VectorWrapper(SerialVectorEnv(parts)),
        lambda parts: wrappers.ClipReward(SerialVectorEnv(parts), -1.0, 1.0),
    ],
)
def test_of_each_environment(make):
    envs = make([lambda: TimeLimit(Middle(), 5)] * 3)
    obs, _ = envs.reset(seed=0)
    actions = expert_actions(envs)
    assert actions.dtype == np.float32
    assert np.array_equal(actions, -obs)
    obs, *_ = envs.step(actions)
    assert not obs.any()
    envs.close()


def test_of_all_at_once_and_of_the_kind_that_a_wrapper_gives():
    envs = GoToVectorEnv(4)
    envs.reset(seed=0)
    assert torch.equal(expert_actions(envs), envs.expert())
    timed = wrappers.EpisodeStatistics(wrappers.TimeLimit(GoToVectorEnv(4), 3))
    timed.reset(seed=0)
    assert torch.equal(expert_actions(timed), envs.expert())
    actions = expert_actions(wrappers.TorchToNumpy(envs))
    assert isinstance(actions, np.ndarray)
    assert np.array_equal(actions, envs.expert().numpy())


def test_a_wrapper_that_changes_actions_is_not_looked_through():
    envs = wrappers.RescaleAction(SerialVectorEnv([Middle] * 2))
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=r"acts in Box\(-2.*takes actions in Box\(-1"):
        expert_actions(envs)
    inner = SerialVectorEnv(
        [lambda: RescaleAction(Middle(), np.float32(-1), np.float32(1))]
    )
    inner.reset(seed=0)
    with pytest.raises(ValueError, match=r"without the wrapper, or give"):
        expert_actions(inner)


def test_a_wrapper_may_have_its_own():
    envs = SerialVectorEnv([lambda: TimeLimit(Halved(Middle()), 5)] * 2)
    obs, _ = envs.reset(seed=0)
    assert np.array_equal(expert_actions(envs), -obs / 2)

    class Lazy(VectorWrapper):
        def expert(self):
            return np.zeros((2, 1), np.float32)

    assert not expert_actions(Lazy(envs)).any()


def test_none_is_said_and_nothing_breaks():
    tensors = gym.make_vec("yieldrl/Pendulum-v1", num_envs=2)
    arrays = AsyncVectorEnv([lambda: gym.make("CartPole-v1")] * 2)
    for envs in (tensors, arrays):
        envs.reset(seed=0)
        with pytest.raises(ValueError, match="has no expert"):
            expert_actions(envs)
    arrays.step(np.array([0, 1]))
    arrays.close()
