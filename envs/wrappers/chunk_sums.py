"""Sums over a chunk of actions, for each environment until its episode ended."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from yieldrl.envs.arrays import copied, replaced
from yieldrl.envs.autoreset import Step


class ChunkSums:
    """Sums over the steps of a chunk, of those environments that are still running.

    `reward` and `discounted` `[N]` are the sums of `r_i` and of `gamma^i r_i`, `each`
    all `r_i`; `num_steps` int64 `[N]` the steps that count; `next_obs` and `info` are
    the latest.
    """

    def __init__(self, step: Step, running: Tensor) -> None:
        self.reward = self.discounted = step.reward.masked_fill(~running, 0)
        self.each = [self.reward]
        self.num_steps = running.long()
        self.terminated = step.terminated & running
        self.truncated = step.truncated & running
        self.next_obs, self.info = step.next_obs, step.info

    def keep(self, step: Step) -> None:
        """Copy the latest step's results: the next step may overwrite them."""
        if self.next_obs is step.next_obs:
            self.next_obs = copied(self.next_obs)
        self.info = copied(self.info)

    def add(self, step: Step, running: Tensor | None, discount: float) -> None:
        """Add a step of the environments that are `running [N]`; None for all."""
        reward, terminated, truncated = step.reward, step.terminated, step.truncated
        if running is None:
            self.num_steps = self.num_steps + 1
            self.next_obs, self.info = step.next_obs, step.info
        else:
            reward = reward.masked_fill(~running, 0)
            terminated, truncated = terminated & running, truncated & running
            self.num_steps = self.num_steps + running
            self.next_obs = replaced(self.next_obs, step.next_obs, running)
            self.info = _latest(self.info, step.info, running)
        self.each.append(reward)
        self.reward = self.reward + reward
        self.discounted = torch.add(self.discounted, reward, alpha=discount)
        self.terminated = self.terminated | terminated
        self.truncated = self.truncated | truncated

    def rewards(self, length: int) -> Tensor:
        """All `r_i`, `[N, length]`: 0 of steps that do not count, or were not taken."""
        none = [torch.zeros_like(self.reward)] * (length - len(self.each))
        return torch.stack([*self.each, *none], 1)

    def as_step(self, obs: Any, valid: Tensor | None, discounts: Tensor) -> Step:
        """The chunk as one step; `discounts` by number of counted steps."""
        info = {
            **self.info,
            "reward": self.discounted,
            "discount": discounts[self.num_steps],
            "num_steps": self.num_steps,
        }
        flags = self.terminated, self.truncated
        return Step(self.next_obs, self.reward, *flags, obs, valid, info)


def _latest(
    old: Mapping[str, Any], new: Mapping[str, Any], running: Tensor
) -> dict[str, Any]:
    """The latest info of each environment: `new` for running ones. Entries missing in
    one of the two are zero there, as in Gymnasium's infos."""
    merged = {}
    for name in (*new, *(name for name in old if name not in new)):
        before, now = old.get(name), new.get(name)
        one = before if now is None else now
        if isinstance(one, Mapping):
            merged[name] = _latest(before or {}, now or {}, running)
        elif isinstance(one, np.ndarray | Tensor) and one.shape[:1] == running.shape:
            before, now = (_zeros(one) if x is None else x for x in (before, now))
            if isinstance(one, Tensor):
                merged[name] = replaced(before, now, running)
            else:  # object arrays
                merged[name] = np.array(before)
                merged[name][running.numpy()] = now[running.numpy()]
        else:
            merged[name] = one
    return merged


def _zeros(one: np.ndarray | Tensor) -> np.ndarray | Tensor:
    if isinstance(one, Tensor):
        return torch.zeros_like(one)
    return np.full_like(one, None if one.dtype == object else 0)
