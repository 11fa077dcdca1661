"""Positions of the writer and the reader in a ring of segments, without data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from yieldrl.buffers.minibatches import Minibatches

NONE = -1
"""No segment; segments are numbered from 0 in order of writing."""
SAVED = ("newest", "written", "claimed", "row", "seen", "last", "dropped", "taken")


@dataclass
class RingPositions:
    """Positions of a `CircularBuffer`, which documents the methods of equal name."""

    num_steps: int  # T, rows of a segment
    slots: tuple[int, ...]  # the number of the segment in each slot
    newest: int = NONE  # the segment that is being written, or was written last
    written: int = 0  # rows written to it
    claimed: int = NONE  # the segment that is read; never overwritten
    row: int = 0  # rows of it that were handed over
    taken: int = 0  # rows of these that `set_aside` removed
    held: bool = False  # whether `rollout` returned it
    passes: Minibatches | None = None  # its minibatches
    seen: int = NONE  # the latest segment that was claimed or skipped
    last: int = NONE  # the segment that was read before, if the next one continues it
    dropped: int = 0  # rows that were lost before they were read
    breaks: frozenset[tuple[int, int]] = frozenset()  # rows where all episodes are new

    def copy(self) -> Self:
        """A copy; far faster than `copy.copy`."""
        copy = object.__new__(type(self))
        vars(copy).update(vars(self))
        return copy

    @property
    def unread(self) -> list[int]:
        """Segments that hold rows and were not claimed, the oldest first."""
        return sorted(n for n in self.slots if n > self.seen and self.rows(n) > 0)

    @property
    def kept(self) -> list[int]:
        """Segments that are still needed, the oldest first."""
        return self.unread if self.claimed == NONE else [self.claimed, *self.unread]

    @property
    def open(self) -> bool:
        """Whether the newest segment has room for more rows."""
        there = self.newest != NONE and self.newest in self.slots
        return there and self.written < self.num_steps

    @property
    def oldest_slot(self) -> int:
        """The slot for the next segment: that of the oldest one that is not claimed."""
        free = [n for n in self.slots if n != self.claimed or n == NONE]
        return self.slots.index(min(free))

    @property
    def next_segment(self) -> int:
        if self.claimed != NONE:
            return self.claimed
        return min([self.newest + (not self.open), *self.unread])

    @property
    def room(self) -> bool:
        return self.open or self.slots[self.oldest_slot] <= self.seen

    @property
    def waiting(self) -> int:
        return sum(self.rows(number) for number in self.kept) - self.row

    @property
    def continues(self) -> bool:
        number = self.next_segment
        return number == self.last + 1 and (number, 0) not in self.breaks

    def rows(self, number: int) -> int:
        """Number of rows of a segment in the ring."""
        return self.written if number == self.newest else self.num_steps

    def place(self, number: int, row: int = 0) -> int:
        """The index of a row in the memory of all slots."""
        return self.slots.index(number) * self.num_steps + row

    @property
    def places(self) -> list[int]:
        """The indices of all rows of segments that are still needed."""
        return [self.place(n, row) for n in self.kept for row in range(self.rows(n))]

    def open_segment(self) -> None:
        """Make room for the next row: a new segment replaces the oldest."""
        if not self.open:
            slot = self.oldest_slot
            if self.slots[slot] > self.seen:
                self.dropped += self.num_steps
            self.newest, self.written = self.newest + 1, 0
            self.slots = (*self.slots[:slot], self.newest, *self.slots[slot + 1 :])

    def yield_segment(self) -> None:
        """Release the claimed segment, if it is the oldest one and unused."""
        unused = not self.held and self.passes is None and self.claimed != NONE
        if unused and not self.open and min(self.slots) == self.claimed:
            self.dropped += self.rows(self.claimed) - self.taken
            self.claimed, self.row, self.taken = NONE, 0, 0

    def end_episodes(self) -> None:
        at = (self.newest, self.written) if self.open else (self.newest + 1, 0)
        self.breaks |= {at}

    def claim(self) -> None:
        """Claim the oldest unread segment, if none is claimed and there is one."""
        if self.claimed == NONE and self.unread:
            self.claimed = self.seen = self.unread[0]
            self.held = False

    def claim_row(self) -> None:
        """Claim the segment of the next row; RuntimeError with the reason if none."""
        self.claim()
        if self.row == self.num_steps:
            raise RuntimeError(
                "the segment is full: learn from it and clear() it first"
            )
        if self.claimed == NONE or self.row == self.rows(self.claimed):
            raise RuntimeError("no row waits: write one")

    def hand_over(self) -> None:
        self.claim_row()
        self.row += 1

    def hand_all_over(self) -> None:
        self.claim()
        if self.claimed != NONE:
            self.row = self.rows(self.claimed)

    def discard(self) -> None:
        self.hand_over()
        self.dropped += 1
        self.breaks |= {(self.claimed, self.row)}

    def set_aside(self) -> None:
        self.taken = self.row
        if self.row == self.num_steps:
            self.clear()

    def skip(self) -> None:
        number = self.claimed
        if number != NONE and self.row == 0:
            self.claimed = NONE
        elif self.unread:
            number = self.seen = self.unread[0]
        else:
            raise RuntimeError("no segment is there to skip: write one first")
        self._give_up(number, 0)

    def clear(self) -> None:
        number, row, self.passes = self.claimed, self.row, None
        if number != NONE:
            whole = row == self.rows(number) and (number, row) not in self.breaks
            self.last = number if whole else NONE - 1
            self.breaks = frozenset(at for at in self.breaks if at[0] > number)
            self.claimed, self.row, self.taken = NONE, 0, 0
            self._give_up(number, row)

    def cleared(self) -> Self:
        now = self.copy()
        now.clear()
        return now

    def _give_up(self, number: int, row: int) -> None:
        """Drop the rows of a segment from `row` on, and count them."""
        self.dropped += self.rows(number) - row
        if number == self.newest and self.open:  # the next row begins a new segment
            self.slots = tuple(NONE if n == number else n for n in self.slots)

    def state_dict(self) -> dict[str, Any]:
        """The positions, and the segments that are still needed."""
        state = {name: getattr(self, name) for name in ("num_steps", *SAVED)}
        return {**state, "kept": self.kept, "breaks": sorted(map(list, self.breaks))}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, the kept segments in the first slots."""
        kept, steps, own = state["kept"], state["num_steps"], self.num_steps
        if kept and steps != own:
            raise ValueError(
                f"num_steps = {own}, but the checkpoint has segments with num_steps ="
                f" {steps} that were not learned from: go on with this"
            )
        if len(kept) > len(self.slots):
            raise ValueError(
                f"the checkpoint has {len(kept)} segments that were not learned from,"
                f" this ring has room for {len(self.slots)}: choose num_segments ="
                f" {len(kept)} or more"
            )
        vars(self).update({name: state.get(name, 0) for name in SAVED})
        self.slots = (*kept, *self.slots[len(kept) :])
        self.breaks = frozenset((number, row) for number, row in state["breaks"])
