"""Storage for imagined segments; also samples single transitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.spaces import Box, Dict, MultiDiscrete
from tensordict import TensorDict
from torch import Tensor

from yieldrl.buffers.replay import ReplayBuffer

NEEDED = ("valid", "discount", "model_version", "policy_version")
"""Entries of each row of a segment, besides those of transitions."""


class ImaginationBuffer(ReplayBuffer):
    """A ring of the latest imagined steps `[rows, B]`, written a segment at a time.

    A segment `[H, B]` has `B` branches, each from a real state on. Each step has the
    versions of the weights that made it, `model_version` and `policy_version`; `valid`,
    which is False after a branch's end; and its own `discount`. The last row is
    `truncated` where a branch has not ended, so that values bootstrap from its
    `next_obs`, and sequences never continue into another segment.

    `segment` returns the newest segment, for advantages and returns; `sample` draws
    uniformly from all valid transitions, and `sequences` draws consecutive steps.

    Args:
        capacity: Imagined steps to keep, over all branches; at least one row.
        observation_space: Space of one state.
        action_space: Space of one action.
        num_branches: `B`, branches of a segment.
        options: `gamma`, `device` and `seed`, as in `ReplayBuffer`.
    """

    def __init__(
        self,
        capacity: int,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        *,
        num_branches: int,
        **options: Any,
    ) -> None:
        spaces = observation_space, action_space
        super().__init__(capacity, *spaces, num_envs=num_branches, **options)
        self.latest = 0  # rows of the newest segment

    @classmethod
    def of(cls, segment: TensorDict) -> ImaginationBuffer:
        """An empty buffer for one segment `[H, B]` with the spaces of `segment`.

        Samples have the segment's own `discount`.
        """
        observed, acted = (_space_of(segment.get(name)) for name in ("obs", "action"))
        rows, device = segment.numel(), segment["reward"].device
        options = {"gamma": 1.0, "device": device, "num_branches": segment.shape[1]}
        return cls(rows, observed, acted, **options)

    def add(self, transition: Mapping[str, Any]) -> None:
        """Write a segment `[H, B]`, as `yieldrl.imagination.imagine` returns it.

        ValueError if an entry is missing, if a branch has not ended in the last row, or
        if it has more rows than fit.
        """
        if not isinstance(transition, TensorDict) or transition.batch_dims < 2:
            super().add(transition)
            return
        self._check(transition)
        self.latest = 0
        super().add(transition)
        self.latest = len(transition)

    def segment(self) -> TensorDict:
        """A copy of the newest segment `[H, B]`; RuntimeError if there is none."""
        if self.latest == 0:
            raise RuntimeError("nothing was imagined yet: add a segment first")
        time = torch.arange(self._written - self.latest, self._written)
        row = (time % self.rows).to(self.device).unsqueeze(1) * self.num_envs
        index = row + torch.arange(self.num_envs, device=self.device)
        size = self.latest, self.num_envs
        return self._single_steps(index.flatten()).view(*size)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "latest": self.latest}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.latest = state["latest"]

    def _check(self, segment: TensorDict) -> None:
        missing = sorted({*NEEDED} - set(segment.keys()))
        if missing:
            raise ValueError(f"the segment lacks {missing}: imagine() writes them")
        last = segment[-1]
        goes_on = last["valid"] & ~(last["terminated"] | last["truncated"])
        if bool(goes_on.any()):
            raise ValueError(
                "branches of the last row go on, so that the next segment would look"
                " like their future: mark them as truncated"
            )
        if len(segment) > self.rows:
            raise ValueError(
                f"a segment of {len(segment)} rows does not fit into {self.rows}:"
                f" choose a capacity of {len(segment) * self.num_envs} or more"
            )


def _space_of(values: Any) -> gym.Space[Any]:
    """A space that contains these values, `[H, B, ...]` each, nested or not."""
    if not isinstance(values, Tensor):
        return Dict({name: _space_of(leaf) for name, leaf in values.items()})
    shape = tuple(values.shape[2:])
    if values.dtype == torch.int64:
        return MultiDiscrete(np.full(shape, np.iinfo(np.int64).max))
    if values.dtype == torch.bool:
        flags: Any = np.bool_
        return Box(0, 1, shape, flags)
    return Box(-np.inf, np.inf, shape, np.float32)
