"""Meta-World with seeded goals, scaled positions and negative rewards."""

import warnings
from functools import cached_property
from importlib import import_module
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import RecordConstructorArgs

from yieldrl.envs.arrays import ResetResult, StepResult

_POSITIONS = np.add.outer((0, 4, 11, 18, 22, 29, 36), range(3))  # indices
_CENTRE = np.array((0.0, 0.6, 0.15), np.float32)  # m, above the middle of the table
_UNIT = np.float32(0.1)  # m


class MetaWorld(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """A task of Meta-World with seeded goals, scaled positions and negative rewards.

    The environments of `metaworld:Meta-World/MT1` ignore the seed of a reset, so that
    those of a batch would all be given the same goals in the same order; here a reset
    with a seed chooses them by it.

    Positions differ by a few centimetres, which a network hardly sees beside numbers of
    one: here they count in decimetres from above the middle of the table, and those of
    objects that a task does not have stay 0. They are 21 of the 39 numbers: hand and
    two objects, the same one step ago, and the goal, of which the package's own space
    says that it is always 0.

    Its `expert` is the package's own: a rule for each of the 50 tasks.

    Rewards of 0 to 10 become those of -10 to 0. So an episode that success ends, which
    the environment's argument `terminate_on_success` asks for, is worth more than one
    that goes on; with rewards above 0 it would be worth less.

    Yu et al. 2019, "Meta-World", arXiv:1910.10897; McLean et al. 2025, "Meta-World+",
    arXiv:2505.11289.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)
        self.observation_space = Box(-np.inf, np.inf, (39,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> ResetResult:
        if seed is not None:
            self.get_wrapper_attr("seed")(seed)
        self._obs, info = self.env.reset(seed=seed, options=options)
        return scaled(self._obs), info

    def step(self, action: Any) -> StepResult:
        self._obs, reward, terminated, truncated, info = self.env.step(action)
        return scaled(self._obs), float(reward) - 10, terminated, truncated, info

    def expert(self) -> np.ndarray:
        """The action of the package's rule for the task, float32 `[4]`."""
        with warnings.catch_warnings():  # about actions that are too large
            warnings.simplefilter("ignore")
            action = self._rule.get_action(self._obs)
        return np.clip(action, -1, 1).astype(np.float32)

    @cached_property
    def _rule(self) -> Any:
        tasks = import_module("metaworld").ALL_V3_ENVIRONMENTS
        (name,) = (n for n, kind in tasks.items() if kind is type(self.unwrapped))
        return import_module("metaworld.policies").ENV_POLICY_MAP[name]()


class MetaWorldRepeated(MetaWorld):
    """`MetaWorld` with every action taken four times in a row.

    An action moves the hand by a centimetre at most, so that its effect shows
    many steps later. Taken four times, an episode has 125 steps in place of 500.
    Rewards are a tenth of the mean of four: from -1 to 0.

    Attributes:
        repeats: Steps per action; a subclass may choose another number.
    """

    repeats = 4

    def step(self, action: Any) -> StepResult:
        obs, reward, terminated, truncated, info = super().step(action)
        rewards = [reward]
        while len(rewards) < self.repeats and not (terminated or truncated):
            obs, reward, terminated, truncated, info = super().step(action)
            rewards.append(reward)
        return obs, float(np.mean(rewards)) / 10, terminated, truncated, info


def scaled(obs: np.ndarray) -> np.ndarray:
    """An observation `[39]` of Meta-World with positions in decimetres, float32."""
    result = np.array(obs, np.float32)
    positions = result[_POSITIONS]
    there = positions.any(1, keepdims=True)
    result[_POSITIONS] = np.where(there, (positions - _CENTRE) / _UNIT, 0)
    return result
