"""The circular buffer: rollouts written by one thread while another one learns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import torch
from tensordict import TensorDict

from yieldrl.buffers.exchange import Exchange
from yieldrl.buffers.passes import Passes
from yieldrl.buffers.positions import NONE
from yieldrl.buffers.ring import RingProgress
from yieldrl.buffers.rollout import RolloutBuffer
from yieldrl.buffers.storage import add_rows, is_rollout


class CircularBuffer(RolloutBuffer):
    """A ring of segments `[T, N]`: one is learned from while others are written.

    One thread writes: `write` copies the next row. When its segment is whole, the next
    one is written over the oldest that the reader does not hold. What was not read of
    it is lost then, and counted; while there is `room`, nothing is.

    Another thread, or the same, reads: `hand_over` makes the next row a part of what it
    sees. To it this is a `RolloutBuffer`, whose rollout stays in place until `clear`.

    A ring of four, which nobody reads:

    >>> space = gym.spaces.Discrete(2)
    >>> ring = CircularBuffer(1, space, space, num_envs=1, num_segments=4)
    >>> step = {"obs": [0], "next_obs": [1], "action": [0], "reward": [1.0]}
    >>> step |= {"terminated": [False], "truncated": [False]}
    >>> for _ in range(6):
    ...     ring.write(step)
    ...     print(ring.slots)
    [0, None, None, None]
    [0, 1, None, None]
    [0, 1, 2, None]
    [0, 1, 2, 3]
    [4, 1, 2, 3]
    [4, 5, 2, 3]
    >>> ring.dropped, ring.waiting
    (2, 4)
    >>> ring.hand_over()
    >>> len(ring), ring.full, ring.waiting
    (1, True, 3)

    `add` does the same for who writes and reads in turn, and hands over at once.

    Args:
        num_steps: `T`, steps of a segment.
        observation_space: Space of one observation.
        action_space: Space of one action.
        num_segments: How many segments there are, one of which is being read.
        kwargs: The other arguments of `RolloutBuffer`.

    Raises:
        ValueError: If `num_segments` is less than 2, or as `RolloutBuffer` does.
        MemoryError: If the device has less memory free than all of this needs.
    """

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
        slots = (NONE,) * num_segments
        self._start = RingProgress(num_steps=num_steps, slots=slots)
        self._ring = Exchange(self._start)

    def __len__(self) -> int:
        return self._now.row - self._now.taken

    @property
    def full(self) -> bool:
        """Whether all T rows of the segment were handed over, to the reader."""
        return len(self) == self.num_steps

    @property
    def used_up(self) -> bool:
        """Whether all T rows of the segment were handed over, to anybody."""
        return self._now.row == self.num_steps

    @property
    def taken(self) -> int:
        """Rows of the segment that `set_aside` was called for."""
        return self._now.taken

    @property
    def slots(self) -> list[int | None]:
        """The number of the segment in each slot, counted as they were written."""
        return [None if number == NONE else number for number in self._now.slots]

    @property
    def dropped(self) -> int:
        """Rows that were lost before they were read."""
        return self._now.dropped

    @property
    def room(self) -> bool:
        """Whether the next `write` loses nothing that is unread."""
        return self._now.room

    @property
    def waiting(self) -> int:
        """Rows that were written and not handed over."""
        return self._now.waiting

    @property
    def next_row(self) -> int:
        """The number of the row that is handed over next.

        Rows are numbered as segments are: row t of segment s is `s * T + t`.
        """
        return self._now.next_segment * self.num_steps + self._now.row

    @property
    def next_written(self) -> int:
        """The number after that of the latest row written."""
        return self._now.newest * self.num_steps + self._now.written

    @property
    def gap(self) -> bool:
        """Whether the row that `peek` returns does not continue the one before it."""
        return self._now.gap

    def add(self, transition: Mapping[str, Any]) -> None:
        """Write one step of all environments, and hand over what waits until `full`.

        Where the ring is full it is written over the oldest segment, as by `write`,
        unless that is what `rollout` has given: then over the one after it.

        Raises:
            ValueError: If an entry does not fit; the row is not counted then.
        """
        if is_rollout(transition):
            add_rows(self, transition)
            return
        self._ring.change(RingProgress.yielding)
        self.write(transition)
        self._ring.change(RingProgress.caught_up)

    def write(self, transition: Mapping[str, Any]) -> None:
        """Write one step of all environments, which waits to be handed over.

        Raises:
            ValueError: If an entry does not fit; the row is not counted then.
        """
        counted = False
        while not counted:
            now = self._ring.change(RingProgress.opened)
            first = now.claimed == NONE and not now.unread
            place = now.place(now.newest, now.written)
            self._storage.write(place, transition, first=first)
            counted = now.newest in self._ring.change(RingProgress.counted).slots

    def end_episodes(self) -> None:
        """Say that the episodes of the latest row written will not go on."""
        now = self._now
        if now.newest in now.slots and now.written > 0:
            self._storage.truncate(now.place(now.newest, now.written - 1))
        self._ring.change(RingProgress.ended)

    def claim(self) -> int:
        """Keep the next row from being written over; its number.

        Raises:
            RuntimeError: If none waits, or the segment is full.
        """
        now = self._ring.change(RingProgress.due)
        return now.claimed * self.num_steps + now.row

    def peek(self) -> dict[str, Any]:
        """The next row, in the buffer's memory until `clear`: arrays, on a CPU.

        Raises:
            RuntimeError: If none waits, or the segment is full.
        """
        now = self._ring.change(RingProgress.due)
        return self._storage.row(now.place(now.claimed, now.row))

    def hand_over(self) -> None:
        """Make the next row a part of what the reader sees.

        Raises:
            RuntimeError: If none waits, or the segment is full.
        """
        self._ring.change(RingProgress.handed_over)

    def skip(self) -> None:
        """Give up the oldest segment of which no row was handed over, and count it.

        Raises:
            RuntimeError: If there is none.
        """
        self._ring.change(RingProgress.skipped)

    def discard(self) -> None:
        """Give up the next row alone, and count it; the episodes end before it.

        Raises:
            RuntimeError: If none waits, or the segment is full.
        """
        self._ring.change(RingProgress.discarded)

    def set_aside(self) -> None:
        """Say that what was handed over went elsewhere: the reader sees none of it.

        What is left of the segment can be handed over still. It is no whole rollout:
        `clear` gives it up.
        """
        self._ring.change(RingProgress.set_aside)

    def rollout(self) -> TensorDict:
        """The segment so far `[T, N]`, sharing the buffer's memory until `clear`."""
        now = self._ring.change(RingProgress.given)
        begin = 0 if now.claimed == NONE else now.place(now.claimed)
        return self._storage.tensordict(begin + now.row, begin + now.taken)

    def begin(self, passes: Passes) -> None:
        """Keep the passes over this segment until `clear`."""
        self._ring.change(lambda ring: ring.begun(passes))

    def clear(self) -> None:
        """Release the segment; the next one handed over is the oldest unread one."""
        self._ring.change(RingProgress.cleared)

    def state_dict(self) -> dict[str, Any]:
        """All that was written and not learned from, taken while nobody writes."""
        now = self._now.cleared() if self.exhausted else self._now
        places = [now.place(n, row) for n in now.kept for row in range(now.rows(n))]
        index = torch.tensor(places, dtype=torch.int64, device=self.device)
        return {
            **now.state_dict(),
            "storage": self._storage.state_dict(index),
            "passes": None if now.passes is None else now.passes.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, while nobody writes.

        Raises:
            ValueError: If it does not fit this buffer.
        """
        self._ring = Exchange(self._start)
        ring, passes = self._start.restored(state), state["passes"]
        self._storage.load_state_dict(state["storage"])
        if passes is not None:
            ring = ring.begun(Passes.from_state(passes, self.device))
        self._ring = Exchange(ring)

    @property
    def _now(self) -> RingProgress:
        return self._ring.now
