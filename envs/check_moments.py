"""Answers of environments as arrays, and how runs of them are compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

Moment = dict[str, np.ndarray]
"""What a reset or a step answered: names such as `obs.image`, arrays `[N, ...]`."""

SEED = (
    "the same seed and the same actions gave {name} = {those} after {these} in"
    " step {t} of environment {i}: draw all random numbers from the generator that the"
    " seed sets, and let a reset forget the episodes before it"
)


def ended_in(moment: Moment) -> np.ndarray:
    """Where an episode ended, bool `[N]`; False if it was a reset."""
    none = np.zeros((), np.bool_)
    return moment.get("terminated", none) | moment.get("truncated", none)


def as_array(value: Any) -> np.ndarray:
    """A copy on the CPU."""
    if isinstance(value, Tensor):
        return value.detach().cpu().numpy().copy()
    return np.array(value)


def same(these: np.ndarray, those: np.ndarray) -> bool:
    return these.shape == those.shape and bool((these == those).all())


def compare(these: list[Moment], those: list[Moment], complaint: str) -> None:
    """Raise where two runs part that should not."""
    for t, (this, that) in enumerate(zip(these, those, strict=True)):
        for name in this:
            if name not in that or not same(this[name], that[name]):
                got = that.get(name, np.full_like(this[name], 0))
                rows = (this[name] != got).reshape(len(got), -1).any(1)
                i = int(rows.argmax())
                raise ValueError(
                    complaint.format(
                        name=name, t=t, i=i, these=this[name][i], those=got[i]
                    )
                )


def alike(these: Moment, those: Moment) -> bool:
    """Whether they have the same entries, and the same values in them."""
    return these.keys() == those.keys() and all(
        same(these[name], those[name]) for name in these
    )


def all_alike(moments: list[Moment]) -> bool:
    """Whether all are like the first one."""
    return all(alike(moment, moments[0]) for moment in moments)
