"""Rewards of success alone."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import yieldrl.envs  # noqa: F401
from yieldrl.envs.wrappers import SuccessReward


class Falling(gym.Env[Any, Any]):
    """A height that falls by 1 a step to 0; rewards everywhere, success at the end."""

    observation_space = Box(0, 99, (1,), np.float32)
    action_space = Box(-1, 1, (2,))

    def __init__(self, silent=False):
        self.silent = silent

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.height = 5.0
        return np.array([self.height], np.float32), {}

    def step(self, action):
        self.height -= 1
        ended = self.height == 0
        info = {} if self.silent else {"success": bool(ended and action[0] > 0)}
        return np.array([self.height], np.float32), 7.0, ended, False, info


def test_only_an_end_in_success_is_rewarded():
    for mode in AutoresetMode:
        envs = SuccessReward(SyncVectorEnv([Falling, Falling], autoreset_mode=mode))
        envs.reset(seed=0)
        actions = np.array([[1.0, 0.0], [-1.0, 0.0]], np.float32)
        rewards = [envs.step(actions)[1].tolist() for _ in range(5)]
        assert rewards == [[0, 0]] * 4 + [[1, 0]]


def test_tensors_are_rewarded_likewise():
    go = gym.make_vec("yieldrl/GoTo-v1", num_envs=32, wrong_reward=-0.5)
    envs = SuccessReward(go)
    envs.reset(seed=0)
    generator, seen = torch.Generator().manual_seed(0), set()
    for _ in range(30):
        action = torch.randint(4, (32,), generator=generator)
        _, reward, terminated, _, info = envs.step(action)
        assert torch.equal(reward, (info["success"] & terminated).float())
        seen |= set(reward.tolist())
    assert seen == {0.0, 1.0}


def test_who_does_not_say_what_a_success_is_is_refused():
    envs = SuccessReward(SyncVectorEnv([lambda: Falling(silent=True)]))
    envs.reset(seed=0)
    actions = np.zeros((1, 2), np.float32)
    for _ in range(4):
        assert envs.step(actions)[1].tolist() == [0]
    with pytest.raises(ValueError, match="does not say in its info what a success is"):
        envs.step(actions)
