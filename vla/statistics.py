"""Scaling between a robot's units and [-1, 1], saved with the model as buffers."""

import warnings
from collections.abc import Mapping
from typing import Any, Self

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box, Dict
from torch import Tensor, nn

from yieldrl.vla.actions import ActionLayout
from yieldrl.vla.conventions import GRIPPER, Gripper, convention_of

LARGEST_BOUND = 1e6  # larger bounds count as unknown
LEAST_HALF = 1e-30  # of a range; float32 cannot hold the bins of a narrower one
MOST_ROWS = 100_000  # for quantiles; of more rows, evenly spaced ones


class RangeStatistics(nn.Module):
    """The values that map to -1, `low [D]`, and to 1, `high [D]`; float32.

    Both are NaN until they are known, from bounds, data or a pretrained model's file.
    `low` is the larger one of a gripper that opens where the environment's closes.
    """

    low: Tensor
    high: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("low", torch.full((size,), torch.nan))
        self.register_buffer("high", torch.full((size,), torch.nan))
        self._known = False

    @property
    def fitted(self) -> bool:
        """Whether the range is known. Until it is, each call waits for a GPU."""
        if not self._known:  # weights may have been loaded meanwhile
            self._known = not bool((self.low.isnan() | self.high.isnan()).any())
        return self._known

    def normalize(self, values: Tensor) -> Tensor:
        """Values `[..., D]` in units of the range: float32, mostly in [-1, 1]."""
        return 2 * (values.float() - self.low) / (self.high - self.low) - 1

    def denormalize(self, values: Tensor) -> Tensor:
        """Normalised values `[..., D]` in original units, float32."""
        return self.low + (values + 1) * (self.high - self.low) / 2

    @torch.no_grad()
    def set_range(self, low: Any, high: Any) -> Self:
        """Set the range, `[D]` each; equal bounds are moved a little apart.

        ValueError if they are of another size, or not in order.
        """
        # Copies: in Ray's workers the bounds of a space are read-only.
        lower = torch.tensor(np.asarray(low, np.float32), device=self.low.device)
        upper = torch.tensor(np.asarray(high, np.float32), device=self.low.device)
        if lower.shape != self.low.shape or upper.shape != self.low.shape:
            raise ValueError(
                f"statistics of {lower.numel()} numbers for {self.low.numel()}: take"
                " those of the same robot"
            )
        if not bool((lower <= upper).all()):
            raise ValueError(f"low {lower.tolist()} is not below high {upper.tolist()}")
        center, half = lower / 2 + upper / 2, upper / 2 - lower / 2
        wider = torch.maximum(half, _least_half(center))
        wider = torch.where(wider < LEAST_HALF, 1e-2, wider)
        self.low.copy_(torch.where(wider > half, center - wider, lower))
        self.high.copy_(torch.where(wider > half, center + wider, upper))
        return self

    def from_bounds(self, low: np.ndarray, high: np.ndarray) -> Self:
        """Take the bounds of a space, `[D]` each, if all of them are informative."""
        if (np.abs(np.stack([low, high]).astype(np.float64)) <= LARGEST_BOUND).all():
            self.set_range(low, high)
        return self

    def fit(self, data: Tensor) -> Self:
        """Take the 1 and 99 % quantiles of data `[..., D]`, if there are any.

        Where both are the same number, as of a gripper that rarely closes, it is the
        range of the data: what is rare would be cut off.
        """
        rows = data.detach().reshape(-1, len(self.low)).float()
        if len(rows) == 0:
            return self
        some = rows[:: -(-len(rows) // MOST_ROWS)]
        low, high = torch.quantile(some, some.new_tensor([0.01, 0.99]), dim=0)
        coincide = high - low <= 2 * _least_half(low / 2 + high / 2)
        low = torch.where(coincide, rows.amin(0), low)
        high = torch.where(coincide, rows.amax(0), high)
        return self.set_range(low.cpu(), high.cpu())

    def from_openvla(
        self,
        statistics: Mapping[str, Any],
        dataset: str | None,
        entry: str,
        gripper: Gripper = GRIPPER,
    ) -> Self:
        """Take the range of OpenVLA's `dataset_statistics.json`, or `norm_stats`.

        What its numbers mean is in `CONVENTIONS`. ValueError if they have no such data
        set or entry, or if the environment's gripper has other numbers.

        Args:
            statistics: Data sets, in them entries, in them `q01`, `q99` and maybe
                `mask`, whose False numbers are in [-1, 1] as they are.
            dataset: Name of the data set; None if there is only one.
            entry: `action` or `proprio`.
            gripper: Numbers that open and close the environment's.
        """
        names = sorted(statistics)
        name = names[0] if dataset is None and len(names) == 1 else str(dataset)
        if name not in statistics:
            raise ValueError(f"dataset = {dataset!r}: choose one of {names}")
        if entry not in statistics[name]:
            raise ValueError(f"the statistics of {name!r} have no {entry!r}")
        own, convention = statistics[name][entry], convention_of(name, entry)
        low, high = (np.asarray(own[key], np.float32) for key in convention.bounds)
        mask = np.asarray(own.get("mask", [True] * len(low)), bool)
        _warn_of_rare(own, (low == high) & mask, f"{entry!r} of {name!r}")
        accepted = self.low.clone(), self.high.clone()
        self.set_range(np.where(mask, low, -1), np.where(mask, high, 1))
        convention.check_gripper(*accepted, own, gripper)
        for bound in (self.low, self.high):
            bound.copy_(convention.in_environment(bound, own, gripper))
        return self

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self._known = False
        super()._load_from_state_dict(*args, **kwargs)


def _warn_of_rare(own: Mapping[str, Any], coincide: np.ndarray, what: str) -> None:
    """Warn of dimensions with equal quantiles, whose rare values may be cut off."""
    least, most = (np.asarray(own.get(key, own["q01"])) for key in ("min", "max"))
    varies = least != most if {"min", "max"} <= own.keys() else np.zeros(1, bool)
    if (cut := np.flatnonzero(coincide & varies)).size:
        warnings.warn(
            f"the statistics of {what} have q01 = q99 for the numbers {cut.tolist()},"
            " which do vary in the data (min and max differ): the model was trained to"
            " tell no values apart there, and others than that one are cut off",
            stacklevel=3,
        )


def _least_half(center: Tensor) -> Tensor:
    """Half of the narrowest range in which float32 can tell bins apart."""
    return 1e-3 * center.abs()


class ActionStatistics(RangeStatistics):
    """Range of actions; normalising raises RuntimeError while it is unknown."""

    def denormalize(self, values: Tensor) -> Tensor:
        self._require()
        return super().denormalize(values)

    def normalize(self, values: Tensor) -> Tensor:
        self._require()
        return super().normalize(values)

    def _require(self) -> None:
        if not self.fitted:
            raise RuntimeError(
                "the action space has no finite bounds and there are no statistics of"
                " actions: bound it (gymnasium.wrappers.RescaleAction), load a model"
                " that has statistics, or learn from demonstrations first"
            )


class ProprioStatistics(RangeStatistics):
    """Range of proprioception, which stays unchanged while the range is unknown."""

    limit = 10.0
    """Largest absolute output, in units of the range."""

    def normalize(self, values: Tensor) -> Tensor:
        """Values `[..., D]` in units of the range, clipped to `limit`; float32."""
        values = values.float()
        scaled = super().normalize(values).clamp(-self.limit, self.limit)
        return torch.where(scaled.isnan(), values, scaled)


def action_statistics(space: Box, layout: ActionLayout) -> ActionStatistics:
    """Statistics of a Box of actions, from its bounds if they are informative."""
    low, high = (x.reshape(layout.length, -1)[0] for x in (space.low, space.high))
    return ActionStatistics(layout.size).from_bounds(low, high)


def proprio_statistics(space: gymnasium.Space[Any]) -> ProprioStatistics | None:
    """Statistics of a Dict's `proprio`, from its bounds if they are informative."""
    leaf = space.spaces.get("proprio") if isinstance(space, Dict) else None
    if not isinstance(leaf, Box):
        return None
    return ProprioStatistics(leaf.shape[0]).from_bounds(leaf.low, leaf.high)
