"""Minibatches of a rollout: several epochs, each in a random order."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any

import torch
from tensordict import TensorDict, pad
from torch import Generator, Tensor

from yieldrl.buffers.spec import check_at_least_one
from yieldrl.core.files import saved_count


def selected(rows: TensorDict, where: Tensor) -> TensorDict:
    """Rows `[B, ...]` where a bool `[B]` is True; a GPU is waited for once, and not for
    each entry."""
    return rows[where.nonzero().squeeze(1)]


def transitions(rollout: TensorDict) -> TensorDict:
    """The transitions `[B]` of a rollout `[T, N]`, without steps that only reset."""
    flat = rollout.flatten(0, 1)
    return selected(flat, flat["valid"]) if "valid" in set(flat.keys()) else flat


def sequences(rollout: TensorDict, starts: Collection[str] = ()) -> TensorDict:
    """The sequences `[N, T]` of a rollout `[T, N]`, one for each environment.

    Environments in which all steps only reset (`valid` is False) are left out. Entries
    named in `starts`, such as the state of a recurrent network, are needed at the first
    step only: they are expanded without a copy.
    """
    rest = rollout.exclude(*starts)
    rows = rest.transpose(0, 1).contiguous()
    for name in starts:
        first = rollout[name][0].clone().unsqueeze(1)
        rows[name] = first.expand(*rows.batch_size, *first.shape[2:])
    if "valid" in set(rows.keys()):
        return selected(rows, rows["valid"].any(1))
    return rows


def joined(parts: list[TensorDict]) -> TensorDict:
    """Episodes `[E, T]` of several lengths in a row, the short ones padded."""
    length = max(part.shape[1] for part in parts)
    whole: Any = torch.cat([pad_steps(part, length) for part in parts])
    return whole


def pad_steps(rows: TensorDict, length: int) -> TensorDict:
    """Episodes `[E, T]` with steps added that are not `valid`, `[E, length]`."""
    return pad(rows, [0, 0, 0, length - rows.shape[1]])


class Minibatches:
    """The minibatches of several epochs over samples `[B]`, each in a random order.

    The whole state is `position`, the number of minibatches used so far: the order of
    an epoch follows from the seed and the epoch's number.

    Args:
        data: What is shuffled, `[B, ...]`: `transitions` or `sequences`.
        num_epochs: Number of times that each sample is used.
        num_minibatches: Minibatches of an epoch, none of them empty: of fewer samples
            each is a minibatch. Without any, `exhausted` is True at once.
        seed: Epoch k is shuffled by a generator seeded with `seed + k`.
        sequences: Whether samples are `[N, T]` and a minibatch of n of them `[T, n]`.
    """

    def __init__(
        self,
        data: TensorDict,
        num_epochs: int,
        num_minibatches: int,
        seed: int,
        *,
        sequences: bool = False,
    ) -> None:
        check_at_least_one(num_epochs=num_epochs, num_minibatches=num_minibatches)
        self.data, self.seed, self.sequences = data, seed, sequences
        self.num_epochs, self._at_most = num_epochs, num_minibatches
        self.num_minibatches = min(num_minibatches, len(data))
        self.position = 0
        self._epoch: tuple[int, tuple[TensorDict, ...]] | None = None

    @property
    def exhausted(self) -> bool:
        """Whether all minibatches were used."""
        return self.position >= self.num_epochs * self.num_minibatches

    def minibatch(self) -> TensorDict:
        """The current minibatch, `[b]` or `[T, n]`, a copy; or RuntimeError."""
        if self.exhausted:
            raise RuntimeError(
                f"all {self.num_epochs} epochs were learned from, or stop() was called:"
                " clear() and collect the next rollout"
            )
        number, position = divmod(self.position, self.num_minibatches)
        epoch = self._epoch
        if epoch is None or epoch[0] != number:
            self._epoch = epoch = None  # frees the previous epoch's memory
            epoch = self._epoch = number, self._cut(self._order(number))
        return epoch[1][position]

    def advance(self) -> None:
        """Count the current minibatch as used, and move on to the next one."""
        self.position += 1

    def stop(self) -> None:
        """Skip the remaining minibatches."""
        self.position = self.num_epochs * self.num_minibatches

    def state_dict(self) -> dict[str, Any]:
        """The data, the arguments, and `position`."""
        # Clone: saving a view would save the memory of the whole tensor.
        data = self.data.apply(
            lambda x: x.clone() if x.untyped_storage().nbytes() > x.nbytes else x
        )
        assert data is not None
        return {
            "data": data.to_dict(),
            "size": list(self.data.batch_size),
            "num_epochs": self.num_epochs,
            "num_minibatches": self._at_most,
            "seed": self.seed,
            "sequences": self.sequences,
            "learned": self.position,
        }

    @classmethod
    def from_state(
        cls, state: Mapping[str, Any], device: torch.device | str = "cpu"
    ) -> Minibatches:
        """Restore minibatches from a `state_dict`, on a device."""
        data = TensorDict(state["data"], state["size"]).to(device)
        names = "num_epochs", "num_minibatches", "seed"
        sizes = [saved_count(state, name) for name in names]
        minibatches = cls(data, *sizes, sequences=state["sequences"])
        minibatches.position = saved_count(state, "learned")
        return minibatches

    def _order(self, epoch: int) -> Tensor:
        leaf = next(iter(self.data.values(include_nested=True, leaves_only=True)))
        return random_order(len(self.data), leaf.device, self.seed + epoch)

    def _cut(self, order: Tensor) -> tuple[TensorDict, ...]:
        """Gather once per epoch; the minibatches are views."""
        shuffled = self.data.apply(lambda leaf: _gathered(leaf, order))
        assert shuffled is not None
        count, parts = len(order), self.num_minibatches
        cuts = [count * i // parts for i in range(parts + 1)]
        cut = shuffled.split([b - a for a, b in pairwise(cuts)])
        return tuple(part.transpose(0, 1) if self.sequences else part for part in cut)


def random_order(count: int, device: torch.device | None, seed: int) -> Tensor:
    """A random permutation of 0 ... `count` - 1, int64 `[count]`."""
    generator = Generator(device or "cpu").manual_seed(seed)
    return torch.randperm(count, generator=generator, device=device)


def _gathered(leaf: Tensor, order: Tensor) -> Tensor:
    """Samples in a new order; a leaf expanded over time stays expanded."""
    if leaf.ndim > 1 and leaf.stride(1) == 0:
        first = leaf[:, :1].index_select(0, order)
        return first.expand(-1, *leaf.shape[1:])
    return leaf.index_select(0, order)
