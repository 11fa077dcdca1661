"""One step of a vector environment, read alike in every autoreset mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from torch import Tensor

from yieldrl.envs.arrays import MisfitError, as_tensors, leaves, replaced, with_rows
from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.serial import SerialVectorEnv


class Step(NamedTuple):
    """What one step of all environments gave; every entry is `[N, ...]`."""

    next_obs: Any  # where the action led: at an episode's end its last observation
    reward: Any
    terminated: Any
    truncated: Any
    obs: Any  # what to act on next: after an end, the first of a new episode
    valid: Any | None  # False where the step is none, as a reset; None if all are
    info: dict[str, Any]
    action: Any = None  # what the environments were given, where it is known

    @property
    def ended(self) -> Any:
        """Where an episode ended, bool `[N]`."""
        return self.terminated | self.truncated

    @property
    def begins(self) -> Any:
        """Where `obs` is the first of an episode, bool `[N]`."""
        return self.ended if self.valid is None else ~self.valid

    def in_tensors(self) -> Step:
        """The step with tensors for arrays; `info` stays."""
        answer = self.reward, self.terminated, self.truncated
        reward, terminated, truncated = map(as_tensors, answer)
        step = self.with_observations(as_tensors)._replace(valid=as_tensors(self.valid))
        return step._replace(reward=reward, terminated=terminated, truncated=truncated)

    def with_observations(self, function: Callable[[Any], Any]) -> Step:
        """The step with a function of `next_obs` and of `obs` in their places."""
        next_obs = function(self.next_obs)
        obs = next_obs if self.obs is self.next_obs else function(self.obs)
        return self._replace(next_obs=next_obs, obs=obs)


class StepReader:
    """Finds where the actions led in what a vector environment returned.

    - SAME_STEP: environments reset within the step; `info["final_obs"]` holds the last
      observations, dense or as an object array with None between.
    - NEXT_STEP: the step's observation is the last one; the step after it ignores its
      action and only resets: no transition, so `valid` is False there.
    - DISABLED: the step's observation is the last one, and `obs` until the caller
      resets.

    Environments that name `valid` in their `recorded_info` say in `info` which steps
    are transitions. `new_memory` says whether each answer lies in memory of its own:
    others may write all their answers into the same arrays or tensors.
    """

    def __init__(self, envs: VectorEnv) -> None:
        self.envs = envs
        self.mode: AutoresetMode = envs.metadata["autoreset_mode"]
        # A subclass with a step of its own may keep its answers and write them again.
        own = getattr(envs.step, "__module__", "").startswith("yieldrl.envs.")
        self.new_memory = own and isinstance(envs, SerialVectorEnv | TorchVectorEnv)
        self._handed_over = HandedOver()
        self._same_step = self.mode is AutoresetMode.SAME_STEP
        self._next_step = self.mode is AutoresetMode.NEXT_STEP
        self._says_valid = "valid" in getattr(envs, "recorded_info", ())

    def read(
        self,
        obs: Any,
        reward: Any,
        terminated: Any,
        truncated: Any,
        info: dict[str, Any],
        *,
        resets: Any,
        action: Any = None,
    ) -> Step:
        """What an answer of `step` means; nothing of it is copied but `final_obs`.

        In NEXT_STEP mode `resets` says where the step before ended an episode, bool
        `[N]`; None for nowhere. ValueError if an episode ended in SAME_STEP mode and
        `info` lacks its last observation. On a GPU it must be there in every step.
        """
        self._handed_over.check(self.envs)
        next_obs, valid = obs, None
        if self._same_step:
            if self.new_memory:  # dense, in all rows, if any episode ended
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
        """Where each environment's action led, in SAME_STEP mode."""
        final = info.get("final_obs")
        if final is None:
            # To look at a GPU would wait in every step: there it must be always there.
            on_gpu = isinstance(ended, Tensor) and not ended.is_cpu
            if on_gpu or ended.any():
                raise self._lacking(info)
            return obs
        if isinstance(final, np.ndarray) and final.dtype == object:
            rows = [final[i] for i in np.flatnonzero(ended)]
            if any(row is None for row in rows):
                raise self._lacking(info)
            self._handed_over.keep(rows)
            try:
                return with_rows(obs, rows, ended)
            except MisfitError as reason:
                raise ValueError(
                    f"{self.envs} gave final_obs with {reason}: let the environment's"
                    " observations and its observation_space agree"
                ) from None
        return replaced(obs, final, ended)

    def _lacking(self, info: Mapping[str, Any]) -> ValueError:
        return ValueError(
            f"an episode ended and info of {self.envs} lacks final_obs, it has"
            f" {sorted(info)}: in SAME_STEP mode put the observations there that were"
            " reset away; environments on a GPU must do so in every step, for every"
            " environment, because reading which ended would wait for the device"
        )


def final_info_entry(info: Mapping[str, Any], name: str) -> Any | None:
    """What a step said by this name of each environment `[N]`, zero where nothing; or
    None.

    Also at an episode's end, where Gymnasium's environments put the reset's info in its
    place in SAME_STEP mode, and that of the step into `final_info`.
    """
    value, final = info.get(name), info.get("final_info") or {}
    if name not in final:
        return value
    if value is None:
        return final[name]
    return replaced(value, final[name], info["_final_info"] != 0)  # a mask


class HandedOver:
    """Last observations, of which Gymnasium's `SyncVectorEnv` keeps no copies: an
    environment that writes all of them into one array has overwritten an episode's last
    one."""

    def __init__(self) -> None:
        self._kept: list[tuple[np.ndarray, np.ndarray]] = []

    def keep(self, observations: list[Any]) -> None:
        """Remember these from now on, instead of those before."""
        arrays = [x for x in leaves(observations) if isinstance(x, np.ndarray)]
        self._kept = [(array, array.copy()) for array in arrays]

    def check(self, envs: Any) -> None:
        """Raise ValueError if one of them was written into, and forget them."""
        if not self._kept:
            return
        kept, self._kept = self._kept, []
        for array, copy in kept:
            if not np.array_equal(array, copy, equal_nan=array.dtype.kind == "f"):
                raise ValueError(
                    f"an environment of {envs} writes its observations into the array"
                    f" that it returned as an episode's last one ({copy} became"
                    f" {array}), and {type(envs.unwrapped).__name__} keeps no copy: let"
                    " the environment return a copy (obs.copy()), or pass its class"
                    " instead of the batch, whose own batch makes copies"
                )
