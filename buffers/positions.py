"""Where the writer and the reader of a ring of segments stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from yieldrl.buffers.progress import Progress

NONE = -1
"""No segment: they are numbered from 0 on, as they are written."""

NUMBERS = (
    *("num_steps", "newest", "written", "claimed", "row"),
    *("seen", "last", "dropped", "taken"),
)
"""What a checkpoint keeps as it is."""


@dataclass(kw_only=True)
class Positions(Progress):
    """Where the writer and the reader of a ring of segments stand, never changed.

    Attributes:
        row: Rows of the claimed segment that were handed over.
        num_steps: `T`, rows of a segment.
        slots: The number of the segment in each slot.
        newest: The segment that is written or, if it is whole, was written last.
        written: Rows of it.
        claimed: The segment that is read: it is not overwritten.
        seen: The latest that was claimed or skipped: those after it are unread.
        last: The one that was read before. The next one continues it.
        dropped: Rows that were lost before they were read.
        taken: Rows of the claimed segment that went elsewhere, before those that the
            reader sees.
        held: Whether somebody was given the claimed segment, in the writer's memory.
        breaks: Segments and rows before which the episodes were abandoned.
    """

    num_steps: int
    slots: tuple[int, ...]
    newest: int = NONE
    written: int = 0
    claimed: int = NONE
    seen: int = NONE
    last: int = NONE
    dropped: int = 0
    taken: int = 0
    held: bool = False
    breaks: frozenset[tuple[int, int]] = frozenset()

    def changed(self, **changes: Any) -> Self:
        """A copy with other values; `dataclasses.replace` takes far longer."""
        copy = object.__new__(type(self))
        vars(copy).update(vars(self), **changes)
        return copy

    @property
    def unread(self) -> list[int]:
        """Segments that hold rows and were not claimed, the oldest first."""
        return sorted(n for n in self.slots if n > self.seen and self.rows(n) > 0)

    @property
    def waiting(self) -> int:
        """Rows that were written and not handed over."""
        rest = 0 if self.claimed == NONE else self.rows(self.claimed) - self.row
        return rest + sum(self.rows(n) for n in self.unread)

    @property
    def room(self) -> bool:
        """Whether the next row is written over none that is unread."""
        return self.open or self.slots[self.oldest_slot] <= self.seen

    @property
    def open(self) -> bool:
        """Whether the newest segment takes more rows."""
        there = self.newest != NONE and self.newest in self.slots
        return there and self.written < self.num_steps

    @property
    def begins_anew(self) -> bool:
        """Whether the segment that is read, or will be, does not continue the last."""
        number = self.next_segment
        return number != self.last + 1 or (number, 0) in self.breaks

    @property
    def next_segment(self) -> int:
        """The segment that is read, or will be."""
        if self.claimed != NONE:
            return self.claimed
        after = self.newest if self.open else self.newest + 1
        return min([after, *self.unread])

    @property
    def gap(self) -> bool:
        """Whether the row that waits does not continue the one handed over before."""
        if self.row == 0:
            return self.begins_anew
        return (self.claimed, self.row) in self.breaks

    def rows(self, number: int) -> int:
        """Rows that a segment in the ring has."""
        return self.written if number == self.newest else self.num_steps

    def place(self, number: int, row: int = 0) -> int:
        """Where a row of a segment lies, counted over all slots."""
        return self.slots.index(number) * self.num_steps + row

    @property
    def kept(self) -> list[int]:
        """The segments that are still needed, the oldest first."""
        return self.unread if self.claimed == NONE else [self.claimed, *self.unread]

    def state_dict(self) -> dict[str, Any]:
        """The numbers, and which segments are still needed."""
        state = {name: getattr(self, name) for name in NUMBERS}
        breaks = sorted([number, row] for number, row in self.breaks)
        return {**state, "kept": self.kept, "breaks": breaks}

    def restored(self, state: Mapping[str, Any]) -> Self:
        """What `state_dict` was taken of, with the kept segments in the first slots.

        Raises:
            ValueError: If they do not fit into this ring.
        """
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
        numbers = {name: state.get(name, 0) for name in NUMBERS}
        return type(self)(
            **{**numbers, "num_steps": own},
            slots=(*kept, *self.slots[len(kept) :]),
            breaks=frozenset((number, row) for number, row in state["breaks"]),
        )

    @property
    def oldest_slot(self) -> int:
        """Where the next segment is written: whatever the reader has not claimed."""
        free = [n for n in self.slots if n != self.claimed or n == NONE]
        return self.slots.index(min(free))
