"""What the writer and the reader of a ring of segments do, as far as it is counted."""

from __future__ import annotations

from yieldrl.buffers.passes import Passes
from yieldrl.buffers.positions import NONE, Positions


class RingProgress(Positions):
    """The positions, and for whatever is done what follows from them."""

    def opened(self) -> RingProgress:
        """A segment takes the next row: a new one lies where the oldest was."""
        if self.open:
            return self
        slot, number = self.oldest_slot, self.newest + 1
        lost = self.num_steps if self.slots[slot] > self.seen else 0
        return self.changed(
            slots=(*self.slots[:slot], number, *self.slots[slot + 1 :]),
            newest=number,
            written=0,
            dropped=self.dropped + lost,
        )

    def yielding(self) -> RingProgress:
        """What the reader sees makes room, if the next row needs it.

        That is where it is the oldest of a full ring and nobody has asked for it yet.
        """
        number = self.claimed
        if self.held or self.passes is not None:
            return self
        if number == NONE or self.open or min(self.slots) != number:
            return self
        lost = self.rows(number) - self.taken
        return self.changed(claimed=NONE, row=0, taken=0, dropped=self.dropped + lost)

    def counted(self) -> RingProgress:
        """The row is written, if the reader did not give its segment up meanwhile."""
        return self.changed(written=self.written + 1)

    def ended(self) -> RingProgress:
        """The next row continues no episode."""
        at = (self.newest, self.written) if self.open else (self.newest + 1, 0)
        return self.changed(breaks=self.breaks | {at})

    def reading(self) -> RingProgress:
        """The oldest unread segment is claimed, if none is and there is one."""
        if self.claimed != NONE or not (unread := self.unread):
            return self
        return self.changed(claimed=unread[0], seen=unread[0], held=False)

    def given(self) -> RingProgress:
        """Somebody sees the claimed segment where it lies."""
        return self if self.held else self.changed(held=True)

    def due(self) -> RingProgress:
        """The next row is one of the claimed segment, or nothing can be handed over."""
        now = self.reading()
        if now.claimed == NONE or now.row == now.rows(now.claimed):
            full = now.row == self.num_steps
            remedy = "is full: learn from it and clear() it first"
            reason = f"the segment {remedy}" if full else "no row waits: write one"
            raise RuntimeError(reason)
        return now

    def handed_over(self) -> RingProgress:
        """The next row belongs to what the reader sees."""
        now = self.due()
        return now.changed(row=now.row + 1)

    def discarded(self) -> RingProgress:
        """The next row is lost; what the reader sees goes on after it."""
        now = self.due()
        row, dropped = now.row + 1, now.dropped + 1
        return now.changed(
            row=row, dropped=dropped, breaks=now.breaks | {(now.claimed, row)}
        )

    def set_aside(self) -> RingProgress:
        """All that was handed over went elsewhere: the reader sees none of it."""
        if self.row == self.num_steps:
            return self.cleared()
        return self.changed(taken=self.row)

    def caught_up(self) -> RingProgress:
        """All rows of the claimed segment do."""
        now = self.reading()
        return now if now.claimed == NONE else now.changed(row=now.rows(now.claimed))

    def begun(self, passes: Passes) -> RingProgress:
        """The claimed segment is learned from."""
        return self.changed(passes=passes)

    def skipped(self) -> RingProgress:
        """The oldest segment of which no row was handed over is given up."""
        number = self.claimed
        if number == NONE or self.row > 0:
            if not self.unread:
                raise RuntimeError("no segment is there to skip: write one first")
            return self.changed(seen=self.unread[0])._without(self.unread[0])
        return self.changed(claimed=NONE)._without(number)

    def cleared(self) -> RingProgress:
        """The claimed segment is given up; rows of it that were not read are lost."""
        if self.claimed == NONE:
            return self.changed(passes=None)
        number, row = self.claimed, self.row
        continued = row == self.rows(number) and (number, row) not in self.breaks
        return self.changed(
            row=0,
            taken=0,
            passes=None,
            claimed=NONE,
            last=number if continued else NONE - 1,
            breaks=frozenset(at for at in self.breaks if at[0] > number),
        )._without(number, row)

    def _without(self, number: int, row: int = 0) -> RingProgress:
        """A segment is given up: its rows from that one on are lost."""
        slots = self.slots
        if number == self.newest and self.open:  # what follows begins another one
            slots = tuple(NONE if n == number else n for n in slots)
        lost = self.rows(number) - row
        return self.changed(slots=slots, dropped=self.dropped + lost)
