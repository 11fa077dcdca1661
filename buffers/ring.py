"""The circular buffer: one thread writes rollouts while another learns from them."""

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from tensordict import TensorDict

from yieldrl.buffers.minibatches import Minibatches
from yieldrl.buffers.ring_positions import NONE, RingPositions
from yieldrl.buffers.rollout import RolloutBuffer
from yieldrl.buffers.storage import add_rollout

_LOCK = threading.RLock()
"""One lock for all rings, held for microseconds: so rings can be pickled."""


class CircularBuffer(RolloutBuffer):
    """A ring of segments `[T, N]`: one is read while others are written.

    One thread writes: `write` copies the next row. When its segment is full, the next
    one replaces the oldest that the reader does not use; its unread rows are lost and
    counted in `dropped`. While `room` is True, none are lost. Another thread, or the
    same one, reads: `hand_over` adds the next row to the reader's rollout, as in a
    `RolloutBuffer`; it stays in place until `clear`. `add` does both.

    Args:
        args: The arguments of `RolloutBuffer`, as are `kwargs`.
        num_segments: Number of segments, at least 2, one of which is being read.
        kwargs: See `args`.
    """

    _progress: RingPositions

    def __init__(self, *args: Any, num_segments: int = 2, **kwargs: Any) -> None:
        if num_segments < 2:
            least = "choose at least 2, one to be read and one to be written"
            raise ValueError(f"num_segments = {num_segments}: {least}")
        self.num_segments = num_segments
        super().__init__(*args, **kwargs)

    def __len__(self) -> int:
        return self._progress.row - self._progress.taken

    @property
    def used_up(self) -> bool:
        """Whether all T rows of the segment were handed over, `set_aside` or not."""
        return self._progress.row == self.num_steps

    @property
    def taken(self) -> int:
        """Rows of the segment that `set_aside` was called for."""
        return self._progress.taken

    @property
    def slots(self) -> list[int | None]:
        """The number of the segment in each slot, in order of writing."""
        return [None if number == NONE else number for number in self._progress.slots]

    @property
    def dropped(self) -> int:
        """Rows that were lost before they were read."""
        return self._progress.dropped

    @property
    def room(self) -> bool:
        """Whether the next `write` overwrites no unread rows."""
        return self._progress.room

    @property
    def waiting(self) -> int:
        """Number of rows that were written and not handed over."""
        return self._progress.waiting

    @property
    def next_row(self) -> int:
        """The number of the next row to hand over: `s * T + t` in segment s."""
        now = self._progress
        return now.next_segment * self.num_steps + now.row

    @property
    def next_written(self) -> int:
        """The number after that of the latest row written."""
        now = self._progress
        return now.newest * self.num_steps + now.written

    @property
    def gap(self) -> bool:
        """Whether the row that `peek` returns does not continue the one before it."""
        now = self._progress
        return (now.claimed, now.row) in now.breaks if now.row else not now.continues

    def add(self, transition: Mapping[str, Any]) -> None:
        """Write one step of all environments, and hand over rows until `full`.

        A full ring drops its oldest segment that `rollout` did not return.
        """
        if add_rollout(self, transition):
            return
        self._change(RingPositions.yield_segment)
        self.write(transition)
        self._change(RingPositions.hand_all_over)

    def write(self, transition: Mapping[str, Any]) -> None:
        """Write a step, to be handed over later; ValueError if it is unfit."""
        counted = False
        while not counted:
            now = self._change(RingPositions.open_segment)
            place = now.place(now.newest, now.written)
            self._storage.write(place, transition, first=not now.kept)
            # Write the row again if the reader dropped the segment meanwhile.
            counted = now.newest in self._change(written=now.written + 1).slots

    def end_episodes(self) -> None:
        """Mark the episodes of the latest row written as truncated."""
        now = self._progress
        if now.newest in now.slots and now.written > 0:
            self._storage.truncate(now.place(now.newest, now.written - 1))
        self._change(RingPositions.end_episodes)

    def claim(self) -> int:
        """Claim the next row and return its number; RuntimeError if there is none."""
        now = self._change(RingPositions.claim_row)
        return now.claimed * self.num_steps + now.row

    def peek(self) -> dict[str, Any]:
        """The next row, in the buffer's memory until `clear`: arrays, on a CPU."""
        now = self._change(RingPositions.claim_row)
        return self._storage.row(now.place(now.claimed, now.row))

    def hand_over(self) -> None:
        """Add the next row to the reader's rollout."""
        self._change(RingPositions.hand_over)

    def skip(self) -> None:
        """Drop and count the oldest segment of which no row was handed over."""
        self._change(RingPositions.skip)

    def discard(self) -> None:
        """Drop and count only the next row; episodes end before it."""
        self._change(RingPositions.discard)

    def set_aside(self) -> None:
        """Remove the rows handed over from the rollout; `clear` drops the rest."""
        self._change(RingPositions.set_aside)

    def rollout(self) -> TensorDict:
        """The segment so far `[T, N]`, sharing the buffer's memory until `clear`."""
        now = self._change(held=True)
        begin = 0 if now.claimed == NONE else now.place(now.claimed)
        return self._storage.tensordict(begin + now.row, begin + now.taken)

    def begin(self, passes: Minibatches | None) -> None:
        self._change(passes=passes)

    def clear(self) -> None:
        """Release the segment; the next one handed over is the oldest unread one."""
        self._change(RingPositions.clear)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._progress = self._empty()  # stays empty if the state does not fit
        super().load_state_dict(state)

    def _empty(self) -> Any:
        return RingPositions(self.num_steps, (NONE,) * self.num_segments)

    def _change(
        self, action: Callable[[RingPositions], None] | None = None, **values: Any
    ) -> RingPositions:
        """Replace the positions by a changed copy; Ctrl-C leaves the old ones."""
        try:
            with _LOCK:
                now = self._progress.copy()
                if action is not None:
                    action(now)
                vars(now).update(values)
                self._progress = now
                return now
        except BaseException:
            with suppress(RuntimeError):  # held only if Ctrl-C came at the block's end
                _LOCK.release()
            raise
