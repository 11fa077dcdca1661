"""One step of a vector environment, the same whatever its autoreset mode."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from torch import Tensor

from yieldrl.envs import SerialVectorEnv, TorchVectorEnv
from yieldrl.foundations import spaces


class Step(NamedTuple):
    """What one step of all environments gave; every entry is `[N, ...]`."""

    next_obs: Any  # where the action led: at an episode's end its last observation
    reward: Any
    terminated: Any
    truncated: Any
    obs: Any  # what to act on next: after an end, the first of a new episode
    valid: Any | None  # False where the step only reset; None if it never does
    info: dict[str, Any]

    @property
    def begins(self) -> Any:
        """Where `obs` is the first of an episode, bool `[N]`."""
        ended = self.terminated | self.truncated
        return ended if self.valid is None else ~self.valid


class Stepper:
    """Steps a vector environment and finds the true next observation.

    - SAME_STEP: environments reset within the step; `info["final_obs"]` holds the last
      observations, dense or as an object array with None between.
    - NEXT_STEP: the step's observation is the last one; the step after it ignores its
      action and only resets: no transition, so `valid` is False there.
    - DISABLED: the step's observation is the last one; those that ended are reset here.
    """

    def __init__(self, envs: VectorEnv[Any, Any, Any]) -> None:
        self.envs = envs
        self.mode: AutoresetMode = envs.metadata["autoreset_mode"]
        self.resets: Any = None  # NEXT_STEP: which environments the next step resets
        # Other environments may write each observation into the same array.
        self._fresh = isinstance(envs, SerialVectorEnv | TorchVectorEnv)

    def reset(self, seed: int | None) -> Any:
        """Begin new episodes everywhere; the first observations `[N, ...]`.

        Raises:
            ValueError: If they do not have the shape that the space promises.
        """
        self.resets = None
        space = self.envs.single_observation_space
        try:
            obs, _ = self.envs.reset(seed=seed)
            spaces.is_batched(space, obs)
        except (KeyError, TypeError, ValueError) as reason:
            raise ValueError(
                f"reset() of {self.envs} gave no observations of {space}: {reason}."
                " Make the environment's observations and its observation_space agree"
            ) from reason
        return obs if self._fresh else _copy(obs)

    def step(self, action: Any) -> Step:
        """Take one step in every environment."""
        obs, reward, terminated, truncated, info = self.envs.step(action)
        obs = obs if self._fresh else _copy(obs)
        next_obs, valid = obs, None
        if self.mode == AutoresetMode.SAME_STEP:
            if "final_obs" in info:
                next_obs = _replaced(obs, info["final_obs"], terminated | truncated)
        elif self.mode == AutoresetMode.NEXT_STEP:
            everywhere = terminated | ~terminated
            valid = everywhere if self.resets is None else ~self.resets
            self.resets = terminated | truncated
        else:
            obs = self._reset_ended(obs, terminated | truncated)
        return Step(next_obs, reward, terminated, truncated, obs, valid, info)

    def _reset_ended(self, obs: Any, ended: Any) -> Any:
        if not ended.any():
            return obs
        fresh, _ = self.envs.reset(options={"reset_mask": ended})
        return _replaced(obs, fresh, ended)


def _replaced(obs: Any, other: Any, where: Any) -> Any:
    """`obs` with the rows of `other` where `where [N]` says so; a copy."""
    if hasattr(obs, "items"):
        return {name: _replaced(obs[name], other[name], where) for name in obs}
    if isinstance(obs, Tensor):
        mask = where.reshape(-1, *[1] * (obs.ndim - 1))
        return torch.where(mask, other, obs)
    replaced = obs.copy()
    if where.any():
        rows = other[where]
        replaced[where] = np.stack(rows) if rows.dtype == object else rows
    return replaced


def _copy(obs: Any) -> Any:
    if hasattr(obs, "items"):
        return {name: _copy(child) for name, child in obs.items()}
    return obs.clone() if isinstance(obs, Tensor) else np.array(obs)
