"""The intervals of `HiddenParameters`: reading, checks, and sampling."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.batched.checks import check_choice
from yieldrl.envs.batched.noise import NoiseSource

Intervals = list[tuple[float, float]]
"""Low and high ends, the lowest interval first."""


def read(what: str, ranges: Mapping[str, Any]) -> dict[str, Intervals]:
    """Intervals by name, of each a pair of numbers or several pairs; ValueError names
    the argument, `what`, if one is no interval or overlaps another."""
    return {name: _intervals(f"{what}[{name!r}]", ranges[name]) for name in ranges}


def _intervals(what: str, given: Any) -> Intervals:
    try:
        ends = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        ends = np.empty(0)
    ends = ends.reshape(1, -1) if ends.ndim == 1 else ends
    if ends.ndim != 2 or ends.shape[-1] != 2 or not len(ends):
        raise ValueError(f"{what} = {given!r}: give (low, high), or several such pairs")
    pairs = sorted(zip(ends[:, 0].tolist(), ends[:, 1].tolist(), strict=True))
    for low, high in pairs:
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ValueError(f"{what} = {given!r}: both ends must be finite")
        if low > high:
            raise ValueError(f"{what} = {given!r} is upside down: give (low, high)")
        if low == high and len(pairs) > 1:
            raise ValueError(
                f"{what} = {given!r}: a single number among intervals would never be"
                " drawn, for they are drawn in proportion to their length"
            )
    for (_, end), (start, _) in itertools.pairwise(pairs):
        if start < end:
            raise ValueError(f"{what} = {given!r}: intervals overlap; make one of them")
    return pairs


def check_names(world: TorchVectorEnv, ranges: dict[str, Intervals]) -> None:
    """Raise ValueError if the world lacks a parameter, or first states use it."""
    known, name = world.parameter_names, type(world).__name__
    if not ranges:
        raise ValueError(f"ranges = {{}}: name one at least of {list(known)}")
    first = sorted(ranges.keys() & set(world.reset_parameters.values()))
    if first:
        raise ValueError(
            f"{first} say where first states are, which are drawn before the new"
            f" parameters: hide others, {name} has {list(known)}"
        )
    unknown = sorted(ranges.keys() - set(known))
    if unknown:
        raise ValueError(
            f"{name} has no parameters {unknown}: it has {list(known)} (floats that"
            " its constructor made by self.parameter)"
        )


def check_sides(
    training: dict[str, Intervals], held_out: dict[str, Intervals], side: str
) -> None:
    """Raise ValueError if `side`, an interval or a name is invalid."""
    check_choice("side", side, ("training", "held_out"))
    if side == "held_out" and not held_out:
        raise ValueError("side = 'held_out': say which intervals are, in held_out=")
    unknown = sorted(held_out.keys() - training.keys())
    if unknown:
        raise ValueError(
            f"held_out has {unknown}, ranges only {list(training)}: what is held out"
            " lies outside of a training range, so name both"
        )
    for name, row in training.items():
        if row[0][0] == row[-1][1]:
            raise ValueError(
                f"ranges[{name!r}] = {row[0]} is one number: give it to the world as a"
                " constant, or make the interval wider"
            )
        if _overlap(held_out.get(name, []), row):
            raise ValueError(
                f"held_out[{name!r}] = {held_out[name]} overlaps the training range"
                f" {row}: what is held out must not be met in training"
            )
    for name, row in [*training.items(), *held_out.items()]:
        if ("mass" in name or "length" in name) and row[0][0] <= 0:
            raise ValueError(f"{name} from {row[0][0]}: masses and lengths are above 0")


def _overlap(these: Intervals, those: Intervals) -> bool:
    """Whether intervals overlap in more than their ends."""
    return any(
        (low < top and bottom < high) or (low == high and bottom <= low <= top)
        for low, high in these
        for bottom, top in those
    )


class Draws:
    """Draws a uniform number for each of P names and each environment. `noise` has
    another seed than the world's noise, so that their numbers differ."""

    def __init__(self, intervals: Sequence[Intervals], world: TorchVectorEnv) -> None:
        like = {"dtype": world.dtype, "device": world.device}
        self.noise = NoiseSource(len(intervals), world.num_envs, **like)
        most = max(map(len, intervals))
        rows, total = [], []
        for row in intervals:
            widths = [high - low for low, high in row]
            starts = itertools.accumulate(widths[:-1], initial=0.0)
            padding = [(0.0, 0.0, math.inf)] * (most - len(row))
            rows.append(
                [(*ends, s) for ends, s in zip(row, starts, strict=True)] + padding
            )
            total.append([sum(widths)])
        # Low and high ends, and the cumulative width before each, [P, K] each.
        self._bounds = torch.tensor(rows, **like).unbind(-1)
        self._total = torch.tensor(total, **like)  # [P, 1]

    def __call__(self, count: int | None = None) -> Tensor:
        """Numbers `[P, count or N]`, a row for each name."""
        return self.placed(self.noise.draw(count))

    def seeded(self, seed: Any) -> Tensor:
        """Numbers `[P, N]` by one seed, or N; the generator continues from there."""
        several = np.ndim(seed) > 0
        own = [_other_seed(s) for s in seed] if several else _other_seed(seed)
        return self.placed(self.noise.seed(own))

    def placed(self, noise: Tensor) -> Tensor:
        """Map noise `[P, n]` in [0, 1) to the intervals, laid end to end."""
        along = noise * self._total
        which = (along.unsqueeze(-1) >= self._bounds[2][:, None, 1:]).sum(-1)
        low, high, start = (bound.gather(1, which) for bound in self._bounds)
        return torch.minimum(low + (along - start), high)  # rounding must stay inside


def _other_seed(seed: Any) -> int | None:
    """A seed different from the world's, with which masses would equal angles."""
    if seed is None:
        return None
    purpose = int.from_bytes(b"hidden", "big")
    words = np.random.SeedSequence([purpose, int(seed)]).generate_state(1, np.uint64)
    return int(words[0] >> np.uint64(1))
