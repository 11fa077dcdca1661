"""A step of a vector environment in one format for all autoreset modes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from torch import Tensor

from yieldrl.envs.arrays import StepResult, leaves, replaced, stacked

ASSEMBLED = SyncVectorEnv | AsyncVectorEnv
"""Batches of single environments, which can be asked one by one."""


class Step(NamedTuple):
    """The result of one step of all environments; every entry is `[N, ...]`."""

    next_obs: Any  # after the action; at an episode's end the final observation
    reward: Any
    terminated: Any
    truncated: Any
    obs: Any  # for the next action; after an end, the first of a new episode
    valid: Any | None  # False for reset-only steps; None if all are valid
    info: dict[str, Any]
    action: Any = None  # executed actions, if known

    @property
    def ended(self) -> Any:
        """Whether an episode ended, bool `[N]`."""
        return self.terminated | self.truncated

    @property
    def begins(self) -> Any:
        """Whether `obs` is the first of an episode, bool `[N]`."""
        return self.ended if self.valid is None else ~self.valid


def mode_of(envs: VectorEnv) -> AutoresetMode:
    """The autoreset mode of environments; ValueError if they do not say it."""
    mode = envs.metadata.get("autoreset_mode")
    if isinstance(mode, AutoresetMode):
        return mode
    raise ValueError(
        f"{envs}: metadata['autoreset_mode'] = {mode!r}; a vector environment must"
        " say its gymnasium.vector.AutoresetMode, or bootstrapping would be wrong"
    )


class StepReader:
    """Converts the results of a vector environment's `step` to a `Step`.

    - SAME_STEP: environments reset within the step; `info["final_obs"]` has the final
      observations, dense or as an object array with None in the other rows.
    - NEXT_STEP: the step returns the final observation; the next step ignores its
      action and only resets: it is no transition, so `valid` is False there.
    - DISABLED: the step returns the final observation, which is also `obs` until the
      caller resets.

    Environments with `valid` in their `recorded_info` report in `info` which steps are
    transitions. `new_memory` is True if every result has new memory; other environments
    may write all results into the same arrays or tensors.
    """

    def __init__(self, envs: VectorEnv) -> None:
        self.envs = envs
        self.mode = mode_of(envs)
        # A subclass that overrides `step` may reuse the memory of its results.
        is_ours = getattr(envs.step, "__module__", "").startswith("yieldrl.envs.")
        self.new_memory = is_ours and getattr(type(envs), "new_memory", False)
        self._kept: list[tuple[np.ndarray, np.ndarray]] = []  # arrays and their copies
        self._same_step = self.mode is AutoresetMode.SAME_STEP
        self._next_step = self.mode is AutoresetMode.NEXT_STEP
        self._says_valid = "valid" in getattr(envs, "recorded_info", ())

    def read(self, answer: StepResult, *, resets: Any, action: Any = None) -> Step:
        """Convert a result of `step`; only `final_obs` is copied.

        In NEXT_STEP mode `resets` marks where the previous step ended an episode, bool
        `[N]`; None for nowhere. ValueError if an episode ended in SAME_STEP mode and
        `info` lacks its final observation. A GPU needs `final_obs` in every step.
        """
        if self._kept:
            self._check_kept()
        obs, reward, terminated, truncated, info = answer
        next_obs, valid = obs, None
        if self._same_step:
            if self.new_memory:  # dense: has all rows if any episode ended
                next_obs = info.get("final_obs", obs)
            else:
                next_obs = self._last(obs, terminated | truncated, info)
        elif self._next_step:
            everywhere = terminated | ~terminated
            valid = everywhere if resets is None else ~resets
        if self._says_valid:
            valid = info["valid"]
        return Step(next_obs, reward, terminated, truncated, obs, valid, info, action)

    def _last(self, obs: Any, ended: Any, info: Mapping[str, Any]) -> Any:
        """The observations after the actions, before resets, in SAME_STEP mode."""
        final = info.get("final_obs")
        if final is None:
            # Reading flags would synchronize a GPU, so there it is always required.
            on_gpu = isinstance(ended, Tensor) and not ended.is_cpu
            if on_gpu or ended.any():
                raise self._lacking(info)
            return obs
        if isinstance(final, np.ndarray) and final.dtype == object:
            rows = [final[i] for i in np.flatnonzero(ended)]
            if any(row is None for row in rows):
                raise self._lacking(info)
            if not rows:
                return obs
            arrays = [x for x in leaves(rows) if isinstance(x, np.ndarray)]
            self._kept = [(array, array.copy()) for array in arrays]
            rows = [final[i] if end else rows[0] for i, end in enumerate(ended)]
            final = stacked(self.envs.single_observation_space, rows, " final_obs")
        return replaced(obs, final, ended)

    def _check_kept(self) -> None:
        """Raise ValueError if final observations, which Gymnasium's `SyncVectorEnv`
        does not copy, were overwritten by a later step."""
        kept, self._kept = self._kept, []
        for array, copy in kept:
            if not np.array_equal(array, copy, equal_nan=array.dtype.kind == "f"):
                raise ValueError(
                    f"an environment of {self.envs} writes its observations into the"
                    f" array that it returned as an episode's last one ({copy} became"
                    f" {array}), and {type(self.envs.unwrapped).__name__} keeps no"
                    " copy: let the environment return a copy (obs.copy()), or pass its"
                    " class instead of the batch, whose own batch makes copies"
                )

    def _lacking(self, info: Mapping[str, Any]) -> ValueError:
        return ValueError(
            f"an episode ended and info of {self.envs} lacks final_obs, it has"
            f" {sorted(info)}: in SAME_STEP mode put the observations there that were"
            " reset away; environments on a GPU must do so in every step, for every"
            " environment, because reading which ended would wait for the device"
        )


def final_info_entry(info: Mapping[str, Any], name: str) -> Any | None:
    """An entry of a step's info, for each environment `[N]`, zero where missing; or
    None.

    At an episode's end in SAME_STEP mode it is read from `final_info`, where Gymnasium
    puts the step's info, because `info` then is that of the reset.
    """
    value, final = info.get(name), info.get("final_info") or {}
    if name not in final:
        return value
    if value is None:
        return final[name]
    return replaced(value, final[name], info["_final_info"] != 0)  # a bool mask
