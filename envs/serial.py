"""Gymnasium environments one after the other in one process, with little overhead."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Dict
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from yieldrl.core.conversion import as_array
from yieldrl.envs.arrays import (
    ResetResult,
    StepResult,
    copied,
    stacked,
    tree_map,
    truncated_repr,
)
from yieldrl.envs.infos import declared_names, success_entry

NUMBERS = frozenset({float, int, bool, np.float64, np.float32, np.int64, np.bool_})
"""Classes of rewards that need no check."""

FLAGS = frozenset({bool, np.bool_})
"""Those of `terminated` and `truncated`."""


class CheckedEnv(gym.Wrapper):
    """An environment of a batch that checks what it returns; errors name it.

    Rewards and flags may come in an array, a list or a tensor of one.

    Args:
        env: The environment.
        index: Its place in the batch.

    Raises:
        TypeError, ValueError: At a reset or step, if the result is something else.
    """

    def __init__(self, env: gym.Env, index: int) -> None:
        super().__init__(env)
        self.index, self.steps = index, 0  # in this episode

    @property
    def place(self) -> str:
        """Which environment it is, and the step, for messages."""
        return f"environment {self.index}, {self.env}, at step {self.steps}"

    @property
    def spec(self) -> Any:
        """That of the environment, which this wrapper is no part of."""
        return self.env.spec

    def reset(self, *, seed: Any = None, options: Any = None) -> ResetResult:
        self.steps = 0
        answer: Any = self.env.reset(seed=seed, options=options)
        pair = isinstance(answer, tuple) and len(answer) == 2
        if not (pair and isinstance(answer[1], dict)):
            raise TypeError(
                f"reset() of {self.place} must return an observation and a dict of"
                f" info, got {truncated_repr(answer)}"
            )
        return self.checked(answer[0]), answer[1]

    def step(self, action: Any) -> StepResult:
        self.steps += 1
        answer: Any = self.env.step(action)
        if (
            answer.__class__ is tuple
            and len(answer) == 5
            and answer[1].__class__ in NUMBERS
            and answer[2].__class__ in FLAGS
            and answer[3].__class__ in FLAGS
            and answer[4].__class__ is dict
        ):
            return answer
        five = isinstance(answer, tuple | list) and len(answer) == 5
        if not (five and isinstance(answer[4], dict)):
            raise TypeError(
                f"step() of {self.place} must return observation, reward, terminated,"
                f" truncated and a dict of info, got {truncated_repr(answer)}"
            )
        obs, reward, terminated, truncated, info = answer
        for name, flag in (("terminated", terminated), ("truncated", truncated)):
            if _number(flag) not in (0, 1):
                raise ValueError(
                    f"{self.place} returned the {name} {flag!r}: must be True or False"
                )
        number = _number(reward)
        if number is None:
            raise ValueError(
                f"{self.place} returned the reward {reward!r}: must be one number"
            )
        return obs, number, _number(terminated) == 1, _number(truncated) == 1, info

    def checked(self, obs: Any) -> Any:
        """A copy of an observation in the dtype of its space; ValueError if it does not
        fit. Bounds are ignored."""
        space = self.observation_space
        try:
            return tree_map(lambda batch: batch[0], stacked(space, [obs]))
        except ValueError as reason:
            raise ValueError(
                f"{self.place} returned {reason}; its observation_space is {space}:"
                " make the two agree"
            ) from None


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
        super().__init__(env_fns, autoreset_mode=AutoresetMode.SAME_STEP)
        self.envs = [CheckedEnv(env, i) for i, env in enumerate(self.envs)]
        recorded = declared_names(self.envs[0], "recorded_info")
        declared = declared_names(self.envs[0], "info_keys")
        self.recorded_info += recorded  # a subclass's own it fills in itself
        self.info_keys = tuple(dict.fromkeys((*declared, *recorded)))
        space = self.single_observation_space
        self._is_array = not isinstance(space, Dict)
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
            next_obs.append(last)
            if ended or cut:
                next_obs[i] = copied(last)  # its reset may overwrite it
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
        success, task = success_entry(info), info.get("task")
        if success is not None:
            entry = {"success": bool(np.asarray(success).any())}
            final = self._add_info(final, entry, i)
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


def _number(value: Any) -> float | None:
    """The number in an array, a list or a tensor of one, or None."""
    array = as_array(value)
    if array.size != 1 or array.dtype.kind not in "biuf":
        return None
    return float(array.item())
