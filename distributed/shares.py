"""Join and split states of learners, which differ in their environments' rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor


def joined(whole: Any, states: Sequence[Any]) -> Any:
    """One state from those of all learners.

    Tensors of other shapes than in `whole` are of the learners' own environments: they
    are put together along the first axis. All else is the first learner's.

    >>> joined({"carry": torch.zeros(2)}, [{"carry": torch.ones(1)}] * 2)
    {'carry': tensor([1., 1.])}
    """
    first = states[0]
    if isinstance(first, Mapping):
        known = whole if isinstance(whole, Mapping) else {}
        return {
            name: joined(known.get(name), [state[name] for state in states])
            for name in first
        }
    parted = isinstance(whole, Tensor) and isinstance(first, Tensor)
    return torch.cat([*states]) if parted and whole.shape != first.shape else first


def share_of(state: Any, own: Any, rank: int) -> Any:
    """A learner's share of a state: its rows, where its `own` has fewer."""
    if isinstance(state, Mapping):
        known = own if isinstance(own, Mapping) else {}
        return {k: share_of(value, known.get(k), rank) for k, value in state.items()}
    if isinstance(state, Tensor) and isinstance(own, Tensor) and own.ndim > 0:
        return (
            state.narrow(0, rank * len(own), len(own))
            if len(own) < len(state)
            else state
        )
    return state
