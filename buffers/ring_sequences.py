"""Sample sequences of consecutive steps from a ring, within episodes."""

from dataclasses import dataclass
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.buffers.spec import check_at_least_one
from yieldrl.buffers.storage import Storage

TRIES = 16
"""Random tries before all starts are listed: a try costs a batch, a list the ring."""


@dataclass(frozen=True)
class RingSequences:
    """Sequences of `length` rows within `count` consecutive rows from row `first` on.

    Rows are counted from the first ever written, so they lie at `row % rows`. Only the
    flags of the ring are read, without a copy.
    """

    storage: Storage
    first: int
    count: int
    length: int

    def draw(self, batch_size: int, generator: torch.Generator) -> Tensor:
        """Flat positions `[T, B]`, with starts drawn uniformly from all that are valid.

        RuntimeError if there is none.
        """
        if self.count < self.length:
            raise self._none()
        start = self._random(self._starts, batch_size, generator)
        for _ in range(TRIES):
            whole = self.whole(start)
            if bool(whole.all()):
                return self.positions(start)
            again = self._random(self._starts, batch_size, generator)
            start = torch.where(whole, start, again)
        found = self.starts()  # few starts are valid, or none
        if len(found) == 0:
            raise self._none()
        chosen = found[self._random(len(found), batch_size, generator)]
        return self.positions(torch.where(self.whole(start), start, chosen))

    def positions(self, start: Tensor) -> Tensor:
        """Flat positions `[T, B]` of sequences that begin at `start [B]`.

        A start is the index of a transition, counted from row `first` on.
        """
        rows, envs = self.storage.rows, self.storage.num_envs
        steps = torch.arange(self.length, device=start.device).unsqueeze(1)
        row = self.first + start.div(envs, rounding_mode="floor") + steps
        return row % rows * envs + start % envs

    def whole(self, start: Tensor) -> Tensor:
        """Whether no episode ends before the last step, and no step only resets."""
        path = self.positions(start)
        ended = self._flag("terminated")[path] | self._flag("truncated")[path]
        whole = ~ended[:-1].any(0)
        if "valid" in self.storage:
            whole = whole & self._flag("valid")[path].all(0)
        return whole

    def starts(self) -> Tensor:
        """All starts of whole sequences, `[S]`, the oldest first."""
        every = torch.arange(self._starts, device=self.storage.device)
        # In chunks, because all at once take `length` times the flags' memory.
        size = self.storage.rows * self.storage.num_envs // self.length + 1
        return torch.cat([part[self.whole(part)] for part in every.split(size)])

    def draw_crossing(self, batch_size: int, generator: torch.Generator) -> Tensor:
        """As `draw`, of steps that follow each other over ends of episodes.

        Rows in which an environment only resets are skipped.
        """
        if self.count < self.length:
            raise self._none("environment")
        if "valid" not in self.storage:
            return self.positions(self._random(self._starts, batch_size, generator))
        rows, ahead = self._valid(), self.length - 1
        env, row = rows.t().nonzero(as_tuple=True)  # each environment's, in order
        last = env[ahead:]
        start = (last == env[: len(last)]).nonzero().squeeze(1)
        if len(start) == 0:
            raise self._none("environment")
        start = start[self._random(len(start), batch_size, generator)]
        path = start + torch.arange(self.length, device=start.device).unsqueeze(1)
        row = (self.first + row[path]) % self.storage.rows
        return row * self.storage.num_envs + env[path]

    def crossing_exist(self) -> bool:
        """Whether `draw_crossing` finds any."""
        if self.count < self.length or "valid" not in self.storage:
            return self.count >= self.length
        return bool((self._valid().sum(0) >= self.length).any())

    def _valid(self) -> Tensor:
        """Which of the rows are transitions, `[count, N]`, the oldest first."""
        row = torch.arange(self.count, device=self.storage.device) + self.first
        return self.storage["valid"][row % self.storage.rows]

    @property
    def _starts(self) -> int:
        return (self.count - self.length + 1) * self.storage.num_envs

    def _random(self, below: int, count: int, generator: torch.Generator) -> Tensor:
        like = {"generator": generator, "device": self.storage.device}
        return torch.randint(below, (count,), **like)

    def _flag(self, name: str) -> Tensor:
        return self.storage[name].flatten()

    def _none(self, what: str = "episode") -> RuntimeError:
        return RuntimeError(
            f"no {what} has {self.length} steps in a row among the latest"
            f" {self.count} rows: collect more, or ask for shorter sequences"
        )


class SequenceDraws:
    """Mixin of replay buffers: sample sequences, or return every step."""

    gamma: float
    generator: torch.Generator
    num_envs: int
    _storage: Storage
    _oldest: Any
    _written: int
    check_batch: Any

    def sequences(
        self,
        batch_size: int,
        length: int,
        newest: int | None = None,
        *,
        crossing: bool = False,
    ) -> TensorDict:
        """Sequences of single steps, `[T, B]`, with starts drawn uniformly.

        By default no sequence crosses an episode's end, which can only be its last
        step; with `crossing` the next episode follows, so that all steps are equally
        likely, even of short episodes. Steps that only reset are in no sequence, and
        skipped in one that crosses. `newest` limits sampling to the latest rows.
        RuntimeError if no episode has so many steps; ValueError if a size is less than
        1, MemoryError if the batch takes more memory than is free.
        """
        check_at_least_one(batch_size=batch_size, length=length, newest=newest)
        self.check_batch(batch_size * length)
        rows = self._rows(length, newest)
        draw = rows.draw_crossing if crossing else rows.draw
        index = draw(batch_size, self.generator)
        return self._single_steps(index.flatten()).view(length, batch_size)

    def has_sequences(self, length: int) -> bool:
        """Whether `sequences` of this length that may cross ends can be drawn."""
        return self._rows(length, None).crossing_exist()

    def every_step(self, newest: int | None = None) -> TensorDict:
        """Copies of all single steps `[B]`, the oldest first, without resets.

        `number` counts transitions from the first ever written, so it is unique. With
        `newest` only steps of the latest rows. RuntimeError if there is none.
        """
        check_at_least_one(newest=newest)
        rows = self._rows(1, newest)
        found = rows.starts() if rows.count > 0 else torch.empty(0)
        if len(found) == 0:
            raise RuntimeError("the replay buffer is empty: collect first")
        self.check_batch(len(found))
        data = self._single_steps(rows.positions(found)[0])
        data["number"] = found + rows.first * self.num_envs
        return data

    def _rows(self, length: int, newest: int | None) -> RingSequences:
        oldest, written = self._oldest, self._written
        first = oldest if newest is None else max(oldest, written - newest)
        return RingSequences(self._storage, first, written - first, length)

    def _single_steps(self, index: Tensor) -> TensorDict:
        """The single steps `[B]` at flat positions `[B]`, with their `discount`."""
        batch = self._storage.gather(index)
        if "discount" not in self._storage:
            batch["discount"] = torch.full_like(batch["reward"], self.gamma)
        return batch
