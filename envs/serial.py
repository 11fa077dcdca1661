"""Gymnasium environments one after the other in one process, with little overhead."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from yieldrl.envs.answers import CheckedEnv, declared_names, succeeded
from yieldrl.envs.arrays import ARRAYS, StepResult, copied, stacked


class SerialVectorEnv(SyncVectorEnv):
    """`gymnasium.vector.SyncVectorEnv` in SAME_STEP mode without its bookkeeping.

    Merging every sub-environment's `info` costs more than CartPole itself. Here a step
    returns in `info` the requested keys and, if an episode ended, the dense
    `final_obs` (every environment's true next observation) with its mask `_final_obs`,
    and `final_info` with `success`, where an info says `success` or `is_success`, and
    its `task`. Rewards and flags may be arrays or lists of length one.

    An environment, its class or a wrapper around it may have the attributes `info_keys`
    and `recorded_info`, tuples of names: entries of its info to return, always those
    of the step, also at an episode's end; and entries that are also stored in every
    transition. Each step must provide all of them.

    Args:
        env_fns: Functions that make one environment each.

    Raises:
        TypeError: If one of these attributes is a plain string.
        KeyError: When stepped, if an info lacks a key.
    """

    recorded_info: tuple[str, ...] = ()

    envs: list[CheckedEnv]  # pyright: ignore[reportIncompatibleVariableOverride]
    new_memory: ClassVar[bool] = True  # of each result

    def __init__(self, env_fns: Sequence[Callable[[], gym.Env]]) -> None:
        checked = [partial(_make_checked, fn, i) for i, fn in enumerate(env_fns)]
        super().__init__(checked, autoreset_mode=AutoresetMode.SAME_STEP)
        self.env_fns = env_fns
        recorded = declared_names(self.envs[0], "recorded_info")
        declared = declared_names(self.envs[0], "info_keys")
        self.recorded_info += recorded  # a subclass's own it fills in itself
        self.info_keys = tuple(dict.fromkeys((*declared, *recorded)))
        space = self.single_observation_space
        self._is_array = isinstance(space, ARRAYS)
        self._dtype, self._shape = space.dtype, (self.num_envs, *(space.shape or ()))

    def step(self, actions: Any) -> StepResult:
        """Step all, reset those that ended; their last observation is `final_obs`.
        Errors name the environment and the step."""
        obs: list[Any] = []
        next_obs: list[Any] = []
        infos: list[dict[str, Any]] = []
        reward = np.empty(self.num_envs)
        terminated, truncated = np.zeros((2, self.num_envs), dtype=np.bool_)
        any_ended, final = False, {}
        # A copy: some environments modify their action (`action *= scale`).
        actions = actions.copy() if isinstance(actions, np.ndarray) else actions
        for i, (env, action) in enumerate(zip(self.envs, actions, strict=True)):
            last, reward[i], ended, cut, info = env.step(action)
            last = copied(last)  # its reset, or another environment, may overwrite it
            next_obs.append(last)
            if ended or cut:
                any_ended = True
                terminated[i], truncated[i] = ended, cut
                final = self._add_final_info(final, info, i)
                info = deepcopy({k: info[k] for k in self.info_keys if k in info})
                last, _ = env.reset()
            obs.append(last)
            infos.append(info)
        merged: dict[str, Any]
        merged = {key: self._stacked(infos, key) for key in self.info_keys}
        if any_ended:
            merged["final_obs"] = self._batch(next_obs)
            merged["_final_obs"] = terminated | truncated
        if final:
            merged["final_info"], merged["_final_info"] = final, terminated | truncated
        self._env_obs = obs
        return self._batch(obs), reward, terminated, truncated, merged

    def _add_final_info(
        self, final: dict[str, Any], info: dict[str, Any], i: int
    ) -> dict[str, Any]:
        """Success and task, as the info at an episode's end gives them."""
        success, task = succeeded(info), info.get("task")
        if success is not None:
            final = self._add_info(final, {"success": success}, i)
        if not (task is None or isinstance(task, Mapping) or "task" in self.info_keys):
            final = self._add_info(final, {"task": str(task)}, i)
        return final

    def _stacked(self, infos: list[dict[str, Any]], key: str) -> np.ndarray:
        for env, info in zip(self.envs, infos, strict=True):
            if key not in info:
                raise KeyError(
                    f"the info of {env.place} lacks {key!r}: its info_keys, or"
                    " recorded_info, name it, so each step must give it"
                )
        return np.array([info[key] for info in infos])

    def _batch(self, obs: list[Any]) -> Any:
        try:
            if self._is_array:
                batch = np.array(obs)  # uncast: `stacked` checks what differs
                if batch.dtype == self._dtype and batch.shape == self._shape:
                    return batch
            return stacked(self.single_observation_space, obs)
        except ValueError:
            for env, one in zip(self.envs, obs, strict=True):
                env.checked(one)  # names the one that does not fit
            raise


def _make_checked(make: Callable[[], gym.Env], index: int) -> CheckedEnv:
    return CheckedEnv(make(), index)
