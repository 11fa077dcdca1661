"""The circular buffer: one thread writes rollouts while another learns from them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import gymnasium as gym
import torch
from tensordict import TensorDict

from yieldrl.buffers.minibatches import Minibatches
from yieldrl.buffers.ring_positions import NONE, RingPositions
from yieldrl.buffers.rollout import RolloutBuffer
from yieldrl.buffers.storage import add_rows, is_rollout

_LOCK = threading.RLock()
"""Of all rings, as it is held for microseconds: so rings can be copied and pickled."""


class CircularBuffer(RolloutBuffer):
    """A ring of segments `[T, N]`: one is learned from while others are written.

    One thread writes: `write` copies the next row. When its segment is full, the next
    one replaces the oldest that the reader does not hold; unread rows of it are lost
    and counted in `dropped`. While there is `room`, none are.

    Another thread, or the same one, reads: `hand_over` adds the next row to what the
    reader sees. To the reader this is a `RolloutBuffer`, whose rollout stays in place
    until `clear`. `add` writes and hands over, for use in a single thread.

    A ring of four segments, without a reader:

    >>> space = gym.spaces.Discrete(2)
    >>> ring = CircularBuffer(1, space, space, num_envs=1, num_segments=4)
    >>> step = {"obs": [0], "next_obs": [1], "action": [0], "reward": [1.0]}
    >>> step |= {"terminated": [False], "truncated": [False]}
    >>> for _ in range(6):
    ...     ring.write(step)
    >>> ring.slots, ring.dropped, ring.waiting
    ([4, 5, 2, 3], 2, 4)
    >>> ring.hand_over()
    >>> len(ring), ring.full, ring.waiting
    (1, True, 3)

    Args:
        num_steps: `T`, steps of a segment.
        observation_space: Space of one observation.
        action_space: Space of one action.
        num_segments: Number of segments, one of which is being read.
        kwargs: The other arguments of `RolloutBuffer`.

    Raises:
        ValueError: If `num_segments` is less than 2, or as `RolloutBuffer` does.
        MemoryError: If the device has less memory free than all of this needs.
    """

    _progress: RingPositions

    def __init__(
        self,
        num_steps: int,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        *,
        num_segments: int = 2,
        **kwargs: Any,
    ) -> None:
        if num_segments < 2:
            least = "choose at least 2, one to be read and one to be written"
            raise ValueError(f"num_segments = {num_segments}: {least}")
        self.num_segments = num_segments
        super().__init__(num_steps, observation_space, action_space, **kwargs)
        self._progress = self._empty()

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
        """The number of the segment in each slot, counted as they were written."""
        return [None if number == NONE else number for number in self._progress.slots]

    @property
    def dropped(self) -> int:
        """Rows that were lost before they were read."""
        return self._progress.dropped

    @property
    def room(self) -> bool:
        """Whether the next `write` loses nothing that is unread."""
        return self._progress.room

    @property
    def waiting(self) -> int:
        """Rows that were written and not handed over."""
        return self._progress.waiting

    @property
    def next_row(self) -> int:
        """The number of the row that is handed over next.

        Row t of segment s has the number `s * T + t`.
        """
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
        """Write one step of all environments, and hand over what waits until `full`.

        In a full ring it replaces the oldest segment, as `write` does, unless `rollout`
        has returned that one: then the one after it.

        Raises:
            ValueError: If an entry does not fit; the row is not counted then.
        """
        if is_rollout(transition):
            add_rows(self, transition)
            return
        self._change(RingPositions.yield_segment)
        self.write(transition)
        self._change(RingPositions.hand_all_over)

    def write(self, transition: Mapping[str, Any]) -> None:
        """Write one step of all environments, which waits to be handed over.

        Raises:
            ValueError: If an entry does not fit; the row is not counted then.
        """
        counted = False
        while not counted:
            now = self._change(RingPositions.open_segment)
            place = now.place(now.newest, now.written)
            self._storage.write(place, transition, first=not now.kept)
            # Unless the reader gave the segment up meanwhile: then write it again.
            counted = now.newest in self._change(written=now.written + 1).slots

    def end_episodes(self) -> None:
        """Mark the episodes of the latest row written as truncated."""
        now = self._progress
        if now.newest in now.slots and now.written > 0:
            self._storage.truncate(now.place(now.newest, now.written - 1))
        self._change(RingPositions.end_episodes)

    def claim(self) -> int:
        """Keep the next row from being overwritten; its number.

        Raises:
            RuntimeError: If none waits, or the segment is full.
        """
        now = self._change(RingPositions.claim_row)
        return now.claimed * self.num_steps + now.row

    def peek(self) -> dict[str, Any]:
        """The next row, in the buffer's memory until `clear`: arrays, on a CPU.

        Raises:
            RuntimeError: If none waits, or the segment is full.
        """
        now = self._change(RingPositions.claim_row)
        return self._storage.row(now.place(now.claimed, now.row))

    def hand_over(self) -> None:
        """Make the next row a part of what the reader sees.

        Raises:
            RuntimeError: If none waits, or the segment is full.
        """
        self._change(RingPositions.hand_over)

    def skip(self) -> None:
        """Give up the oldest segment of which no row was handed over, and count it.

        Raises:
            RuntimeError: If there is none.
        """
        self._change(RingPositions.skip)

    def discard(self) -> None:
        """Give up the next row alone, and count it; the episodes end before it.

        Raises:
            RuntimeError: If none waits, or the segment is full.
        """
        self._change(RingPositions.discard)

    def set_aside(self) -> None:
        """Remove what was handed over from the rollout that the reader sees.

        The rest of the segment can still be handed over. It is no whole rollout:
        `clear` gives it up.
        """
        self._change(RingPositions.set_aside)

    def rollout(self) -> TensorDict:
        """The segment so far `[T, N]`, sharing the buffer's memory until `clear`."""
        now = self._change(held=True)
        begin = 0 if now.claimed == NONE else now.place(now.claimed)
        return self._storage.tensordict(begin + now.row, begin + now.taken)

    def begin(self, passes: Minibatches) -> None:
        """Keep the minibatches of this segment until `clear`."""
        self._change(passes=passes)

    def clear(self) -> None:
        """Release the segment; the next one handed over is the oldest unread one."""
        self._change(RingPositions.clear)

    def state_dict(self) -> dict[str, Any]:
        """All that was written and not learned from, while the writer is stopped."""
        now = self._progress.copy()
        if self.exhausted:
            now.clear()
        places = [now.place(n, row) for n in now.kept for row in range(now.rows(n))]
        index = torch.tensor(places, dtype=torch.int64, device=self.device)
        return {
            **now.state_dict(),
            "storage": self._storage.state_dict(index),
            "passes": None if now.passes is None else now.passes.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, while the writer is stopped.

        Raises:
            ValueError: If it does not fit this buffer.
        """
        now, passes = self._empty(), state["passes"]
        self._progress = now.copy()
        now.load_state_dict(state)
        self._storage.load_state_dict(state["storage"])
        if passes is not None:
            now.passes = Minibatches.from_state(passes, self.device)
        self._progress = now

    def _empty(self) -> RingPositions:
        return RingPositions(self.num_steps, (NONE,) * self.num_segments)

    def _change(
        self, action: Callable[[RingPositions], None] | None = None, **values: Any
    ) -> RingPositions:
        """Change a copy of the positions, which then replaces them.

        An exception at any line, such as Ctrl-C, changes nothing and leaves the lock
        free.
        """
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
