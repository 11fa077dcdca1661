"""Gymnasium environments one after the other in one process, with little overhead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import concatenate, create_empty_array


class SerialVectorEnv(SyncVectorEnv):
    """`gymnasium.vector.SyncVectorEnv` in SAME_STEP mode without its bookkeeping.

    Merging every sub-environment's `info` costs more than CartPole itself. Here a step
    leaves in `info` the keys that `info_keys` asks for and, if an episode ended, the
    dense `final_obs` (every environment's true next observation) with its mask
    `_final_obs`. All else is Gymnasium's.

    Args:
        env_fns: Functions that make one environment each.
        info_keys: Keys of the sub-environments' infos to stack into `info`: what `step`
            said, at an episode's end too.
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], gym.Env[Any, Any]]],
        info_keys: Sequence[str] = (),
    ) -> None:
        super().__init__(env_fns, autoreset_mode=AutoresetMode.SAME_STEP)
        self.info_keys = tuple(info_keys)
        self._plain = isinstance(self.single_observation_space, Box | Discrete)

    def step(
        self, actions: Any
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Step all, reset those that ended; their last observation is `final_obs`."""
        obs: list[Any] = []
        next_obs: list[Any] = []
        infos: list[dict[str, Any]] = []
        reward = np.empty(self.num_envs)
        terminated = np.empty(self.num_envs, dtype=np.bool_)
        truncated = np.empty(self.num_envs, dtype=np.bool_)
        any_ended = False
        for i, (env, action) in enumerate(zip(self.envs, actions, strict=True)):
            last, reward[i], ended, cut, info = env.step(action)
            terminated[i], truncated[i] = ended, cut
            if ended or cut:
                any_ended = True
                next_obs.append(deepcopy(last))  # reset may write into the same array
                last, _ = env.reset()
            else:
                next_obs.append(last)
            obs.append(last)
            infos.append(info)
        merged = {}
        for key in self.info_keys:
            merged[key] = np.array([one[key] for one in infos])
        if any_ended:
            merged["final_obs"] = self._batch(next_obs)
            merged["_final_obs"] = terminated | truncated
        return self._batch(obs), reward, terminated, truncated, merged

    def _batch(self, obs: list[Any]) -> Any:
        space = self.single_observation_space
        if self._plain:  # as they are, so that a wrong shape is seen, not broadcast
            return np.array(obs, dtype=space.dtype)
        return concatenate(space, obs, create_empty_array(space, self.num_envs))
