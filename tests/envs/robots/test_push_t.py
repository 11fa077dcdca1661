"""The wrapper around Push-T, and a table in place of the task."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box

from yieldrl.envs.robots import PushT


class Pushing(gym.Env):
    """Its state is where it is sent, and so on, as that of Push-T."""

    observation_space = Box(0, 512, (5,), np.float64)
    action_space = Box(0, 512, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        return np.array([256.0, 0, 512, 384, np.pi / 2]), {}

    def step(self, action):
        return np.array([*action, 0, 0, np.pi]), 0.5, False, True, {"is_success": False}


def test_push_t_counts_in_halves_of_its_table():
    env = PushT(Pushing())
    obs, _ = env.reset(seed=0)
    assert obs == pytest.approx([0, -1, 1, 0.5, 1, 0], abs=1e-6)
    obs, *rest = env.step(np.array([0.25, -1], np.float32))
    assert obs == pytest.approx([0.25, -1, -1, -1, 0, -1], abs=1e-6)
    assert obs.dtype == np.float32
    assert rest == [0.5, False, True, {"is_success": False}]
    with pytest.raises(ValueError, match="Push-T's state is 5"):
        PushT(gym.make("CartPole-v1"))
