"""The wrapper around Meta-World, and a table in place of the task."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box

from yieldrl.envs.robots import MetaWorld, MetaWorldRepeated
from yieldrl.envs.robots.meta_world import scaled


class Table(gym.Env):
    """Draws goals as Meta-World does: by a generator that `reset` does not seed."""

    observation_space = Box(-9, 9, (39,), np.float64)
    action_space = Box(-1, 1, (4,), np.float32)

    def seed(self, seed):
        self._drawn = np.random.default_rng(seed)

    def reset(self, *, seed=None, options=None):
        obs = np.zeros(39)
        obs[36:] = self._drawn.normal(size=3)
        return obs, {}

    def step(self, action):
        return np.zeros(39), 2.0, False, True, {"success": 1.0}


def test_positions_are_in_decimetres():
    obs = np.arange(39.0)
    obs[11:14] = obs[29:32] = 0  # there is no second object
    got = scaled(obs)
    assert got.dtype == np.float32
    unchanged = [3, *range(7, 18), 21, *range(25, 36)]
    assert got[unchanged].tolist() == obs[unchanged].tolist()
    for at in (0, 4, 18, 22, 36):
        wanted = [10 * at, 10 * (at + 1) - 6, 10 * (at + 2) - 1.5]
        assert got[at : at + 3] == pytest.approx(wanted)


def test_a_seed_chooses_the_goal():
    env = MetaWorld(Table())
    first, second = (env.reset(seed=seed)[0] for seed in (1, 2))
    assert not np.array_equal(first, second)
    assert np.array_equal(env.reset(seed=1)[0], first)
    assert not np.array_equal(env.reset()[0], first)
    obs, *rest = env.step(env.action_space.sample())
    assert not obs.any()
    assert rest == [-8.0, False, True, {"success": 1.0}]


class Sliding(Table):
    """Pays what the hand has come; the seventh step is the last."""

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return np.zeros(39), {}

    def step(self, action):
        self.steps += 1
        obs = np.full(39, float(action[0]) * self.steps)
        info = {"success": float(self.steps == 7)}
        return obs, float(self.steps), self.steps == 7, False, info


def test_an_action_is_taken_four_times():
    env = MetaWorldRepeated(Sliding())
    env.reset(seed=0)
    right = np.array([1, 0, 0, 0], np.float32)
    obs, *rest = env.step(right)
    assert obs[3] == 4  # what is seen is the last of four
    assert rest == [pytest.approx(2.5 / 10 - 1), False, False, {"success": 0.0}]
    obs, *rest = env.step(right)  # and none is taken after the end
    assert obs[3] == 7
    assert rest == [pytest.approx(6 / 10 - 1), True, False, {"success": 1.0}]
    assert env.unwrapped.steps == 7
