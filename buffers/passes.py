"""Passes over data at hand: epochs in random order, cut into minibatches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from tensordict import TensorDict
from torch import Generator, Tensor


@dataclass(slots=True)
class _Epoch:
    number: int
    order: Tensor
    minibatches: tuple[TensorDict, ...] = ()  # cut when they are first needed


class Passes:
    """Some epochs over pieces `[B]`, each in a random order, in minibatches.

    Where they stand is one number, `learned`; the rest follows from it. So an
    exception between two calls leaves nothing half done.

    Args:
        pieces: What is shuffled, `[B, ...]`.
        num_epochs: How many times each piece is learned from.
        num_minibatches: Into how many minibatches an epoch is cut; where there are
            fewer pieces, into one of each.
        generator: Draws the orders; on the device of the pieces.

    Attributes:
        learned: Minibatches that were learned from, over all epochs.
    """

    def __init__(
        self,
        pieces: TensorDict,
        num_epochs: int,
        num_minibatches: int,
        generator: Generator,
    ) -> None:
        self.pieces, self.generator = pieces, generator
        self.num_epochs, self._at_most = num_epochs, num_minibatches
        self.learned = 0
        self._epoch: _Epoch | None = None

    @property
    def num_minibatches(self) -> int:
        """Minibatches of an epoch, none of which is empty."""
        return min(self._at_most, len(self.pieces))

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left to learn from."""
        return self.learned >= self.num_epochs * self.num_minibatches

    def minibatch(self) -> TensorDict:
        """The minibatch that is due, however often it is called.

        Raises:
            RuntimeError: If nothing is left.
        """
        self._check_not_exhausted()
        number, position = divmod(self.learned, self.num_minibatches)
        epoch = self._epoch
        if epoch is None or epoch.number != number:
            self._epoch = None  # frees the memory of the epoch before
            order = torch.randperm(
                len(self.pieces), generator=self.generator, device=self.generator.device
            )
            epoch = self._epoch = _Epoch(number, order)
        if not epoch.minibatches:
            epoch.minibatches = self._cut(epoch.order)
        return epoch.minibatches[position]

    def advance(self) -> None:
        """Count the minibatch that is due as learned from; the next one is due.

        Raises:
            RuntimeError: If nothing is left.
        """
        self._check_not_exhausted()
        self.learned += 1

    def stop(self) -> None:
        """Leave nothing to learn from."""
        self.learned = self.num_epochs * self.num_minibatches

    def replace(self, pieces: TensorDict) -> None:
        """Go on with other numbers for the same pieces, in the same order.

        Raises:
            ValueError: If there are more or fewer of them.
        """
        if len(pieces) != len(self.pieces):
            raise ValueError(
                f"the rollout being learned from has {len(self.pieces)} pieces, got"
                f" {len(pieces)}: clear() before another rollout is prepared"
            )
        self.pieces = pieces
        if self._epoch is not None:
            self._epoch = _Epoch(self._epoch.number, self._epoch.order)

    def state_dict(self) -> dict[str, Any]:
        """The pieces, how far they were learned from, and the order under way."""
        epoch = self._epoch
        under_way = (
            epoch is not None and epoch.number == self.learned // self.num_minibatches
        )
        return {
            "pieces": self.pieces.to_dict(),
            "size": list(self.pieces.batch_size),
            "learned": self.learned,
            "order": epoch.order if epoch is not None and under_way else None,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, on the device of the generator."""
        device = self.generator.device
        self.pieces = TensorDict(state["pieces"], state["size"], device=device)
        self.learned, order = state["learned"], state["order"]
        if order is not None:
            number = self.learned // self.num_minibatches
            self._epoch = _Epoch(number, order.to(device))

    def _cut(self, order: Tensor) -> tuple[TensorDict, ...]:
        """One gather an epoch; the minibatches are views of it."""
        shuffled = self.pieces.apply(lambda leaf: leaf.index_select(0, order))
        assert shuffled is not None
        count, parts = len(order), self.num_minibatches
        cuts = [count * i // parts for i in range(parts + 1)]
        return tuple(shuffled[a:b] for a, b in pairwise(cuts))

    def _check_not_exhausted(self) -> None:
        if self.exhausted:
            raise RuntimeError(
                f"all {self.num_epochs} epochs were learned from, or stop() was called:"
                " clear() and collect the next rollout"
            )
