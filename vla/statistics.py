"""Scaling between a robot's units and [-1, 1], saved with the model as buffers."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box, Dict
from torch import Tensor, nn

from yieldrl.vla.actions import ActionLayout

LARGEST_BOUND = 1e6  # larger bounds count as unknown
LEAST_SHARE = 1e-3  # of a range, in its centre, so that float32 tells bins apart

Gripper = tuple[float, float]
"""The numbers that open and close a gripper."""

GRIPPER: Gripper = (-1.0, 1.0)
"""Numbers of LIBERO, robosuite and Meta-World."""


class Convention(NamedTuple):
    """Meaning of the numbers in a data set that OpenVLA was trained on, or OpenVLA-OFT.

    Its loader makes all grippers one number that is not scaled, 1 where they open and
    0 where they close. `run_libero_eval.py` sends `-sign(2 x - 1)` of it; here it is
    `1 - 2 x`, which can be undone, and of which LIBERO takes the sign. All other
    numbers are those of the data set's robot: LIBERO's moves and turns are its own.

    Attributes:
        bounds: Entries of the statistics that became -1 and 1.
        turns: Whether there is such a gripper; else it is the environment's.
        place: Place of the gripper's number where the statistics have no `mask`, which
            leaves it out of what is scaled.
    """

    bounds: tuple[str, str] = ("q01", "q99")
    turns: bool = True
    place: int | None = None


CONVENTIONS = {
    "libero": Convention(place=6),
    "aloha": Convention(bounds=("min", "max"), turns=False),
}
"""By the beginning of a data set's name; all others have the defaults."""


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
        self._check_known()
        return 2 * (values.float() - self.low) / (self.high - self.low) - 1

    def denormalize(self, values: Tensor) -> Tensor:
        """Normalised values `[..., D]` in original units, float32."""
        self._check_known()
        return self.low + (values + 1) * (self.high - self.low) / 2

    def _check_known(self) -> None:
        """RuntimeError if the range has to be known, and is not."""

    @torch.no_grad()
    def set_range(self, low: Any, high: Any) -> Self:
        """Set the range, `[D]` each; equal bounds are moved a little apart.

        ValueError if they are of another size.
        """
        lower, upper = np.asarray(low, np.float32), np.asarray(high, np.float32)
        if not lower.shape == upper.shape == tuple(self.low.shape):
            raise ValueError(
                f"statistics of {lower.size} numbers for {self.low.numel()}: take"
                " those of the same robot"
            )
        center, half = lower / 2 + upper / 2, upper / 2 - lower / 2
        wider = np.maximum(half, LEAST_SHARE * np.abs(center))
        wider = np.where(wider < 1e-30, np.float32(1e-2), wider)
        self.low.copy_(torch.tensor(np.where(wider > half, center - wider, lower)))
        self.high.copy_(torch.tensor(np.where(wider > half, center + wider, upper)))
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
        rows = data.detach().reshape(-1, len(self.low)).float().cpu().numpy()
        if len(rows) == 0:
            return self
        low, high = np.quantile(rows, [0.01, 0.99], axis=0)
        coincide = high - low <= LEAST_SHARE * np.abs(low + high)
        low = np.where(coincide, rows.min(0), low)
        high = np.where(coincide, rows.max(0), high)
        return self.set_range(low, high)

    @torch.no_grad()
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
            entry: `action` or `proprio`, which has the robot's own gripper.
            gripper: Numbers that open and close the environment's.
        """
        names = sorted(statistics)
        name = names[0] if dataset is None and len(names) == 1 else str(dataset)
        if name not in statistics:
            raise ValueError(f"dataset = {dataset!r}: choose one of {names}")
        if entry not in statistics[name]:
            raise ValueError(f"the statistics of {name!r} have no {entry!r}")
        entries = statistics[name][entry]
        matching = (c for start, c in CONVENTIONS.items() if name.startswith(start))
        convention = next(matching, Convention())
        low, high = (np.asarray(entries[key], np.float32) for key in convention.bounds)
        scaled = np.asarray(entries.get("mask", [True] * len(low)), bool)
        least, most = self.low.clone(), self.high.clone()  # of the action space
        self.set_range(np.where(scaled, low, -1), np.where(scaled, high, 1))
        if entry == "proprio" or not convention.turns:
            return self
        places = (
            ~scaled if "mask" in entries else np.arange(len(low)) == convention.place
        )
        for i in np.flatnonzero(places):
            if min(gripper) < least[i] or most[i] < max(gripper):
                raise ValueError(
                    f"{list(gripper)} are to open and close the gripper, and actions"
                    f" are from {least.tolist()} to {most.tolist()}: say which numbers"
                    " do, with model_config={'gripper': [OPEN, CLOSED]}"
                )
            for bound in (self.low, self.high):  # 1 opens in the data, 0 closes
                bound[i] = gripper[1] + bound[i] * (gripper[0] - gripper[1])
        return self


class ActionStatistics(RangeStatistics):
    """Range of actions; normalising raises RuntimeError while it is unknown."""

    def _check_known(self) -> None:
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
