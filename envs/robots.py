"""Robots of other packages, as learning wants them."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import RecordConstructorArgs

_POSITIONS = np.add.outer((0, 4, 11, 18, 22, 29, 36), range(3))  # where they are
_CENTRE = np.array((0.0, 0.6, 0.15), np.float32)  # m, above the middle of the table
_UNIT = np.float32(0.1)  # m
_HALF_TABLE = 256  # pixels, of Push-T


class MetaWorld(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Around a task of Meta-World: seeds count, positions have a scale, rewards an end.

    The environments of `metaworld:Meta-World/MT1` leave the seed of a reset out of
    account, so that those of a batch would all be given the same goals in the same
    order; here a reset with a seed chooses them by it.

    Positions differ by a few centimetres, which a network hardly sees beside numbers of
    one: here they count in decimetres from above the middle of the table, and those of
    objects that a task does not have stay 0. They are 21 of the 39 numbers: hand and
    two objects, the same one step ago, and the goal, of which the package's own space
    says that it is always 0.

    Rewards of 0 to 10 become those of -10 to 0. So an episode that success ends, which
    the environment's argument `terminate_on_success` asks for, is worth more than one
    that goes on; with rewards above 0 it would be worth less.

    Yu et al. 2019, "Meta-World", arXiv:1910.10897; McLean et al. 2025, "Meta-World+",
    arXiv:2505.11289.

    Raises:
        ValueError: If observations are not 39 numbers.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)
        if env.observation_space.shape != (39,):
            raise ValueError(
                f"{env} observes {env.observation_space}, and Meta-World's tasks 39"
                " numbers: put MetaWorld around them, without use_one_hot"
            )
        self.observation_space = Box(-np.inf, np.inf, (39,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self.get_wrapper_attr("seed")(seed)
        obs, info = self.env.reset(seed=seed, options=options)
        return scaled(obs), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        return scaled(obs), float(reward) - 10, terminated, truncated, info


class PushT(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Around Push-T by its state: places have a scale, and the T's angle has no jump.

    The environment's numbers are pixels of a table of 512 and an angle. Here places,
    those that actions send the disk to as well, count from the middle of the table in
    halves of it, and the angle is its sine and cosine: float32 `[6]` for `[5]`.

    Chi et al. 2023, "Diffusion Policy", arXiv:2303.04137.

    Raises:
        ValueError: If observations are not 5 numbers.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)
        if env.observation_space.shape != (5,):
            raise ValueError(
                f"{env} observes {env.observation_space}, and Push-T's state is 5"
                " numbers: put PushT around it with obs_type='state'"
            )
        self.observation_space = Box(-1, 1, (6,), np.float32)
        self.action_space = Box(-1, 1, (2,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        return on_the_table(obs), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        place = (np.asarray(action, np.float64) + 1) * _HALF_TABLE
        obs, reward, terminated, truncated, info = self.env.step(place)
        return on_the_table(obs), reward, terminated, truncated, info


def on_the_table(obs: np.ndarray) -> np.ndarray:
    """The state `[5]` of Push-T in halves of its table, float32 `[6]`."""
    places, angle = np.asarray(obs[:4]) / _HALF_TABLE - 1, obs[4]
    return np.array([*places.clip(-1, 1), np.sin(angle), np.cos(angle)], np.float32)


def scaled(obs: np.ndarray) -> np.ndarray:
    """An observation `[39]` of Meta-World with positions in decimetres, float32."""
    result = np.array(obs, np.float32)
    positions = result[_POSITIONS]
    there = positions.any(1, keepdims=True)
    result[_POSITIONS] = np.where(there, (positions - _CENTRE) / _UNIT, 0)
    return result
