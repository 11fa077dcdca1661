"""The circular buffer: rollouts that are learned from while others are written."""

from collections.abc import Mapping
from typing import Any

from tensordict import TensorDict

from yieldrl.buffers.rollout import RolloutBuffer
from yieldrl.buffers.storage import add_rollout


class CircularBuffer:
    """A ring of rollouts `[T, N]`: the oldest is read while newer ones are written.

    A full ring is written over: the oldest rollout goes, but not one that `rollout`
    returned, until `clear`.

    Args:
        args: The arguments of a `RolloutBuffer`, as are `kwargs`.
        num_segments: Number of rollouts, at least 2, one to read and one to write.
        kwargs: See `args`.

    Attributes:
        segments: The rollouts in the memory's order; `slots` are their numbers.
        dropped: Steps of all environments that were written over before they were read.
    """

    def __init__(self, *args: Any, num_segments: int = 2, **kwargs: Any) -> None:
        if num_segments < 2:
            least = "choose at least 2, one to be read and one to be written"
            raise ValueError(f"num_segments = {num_segments}: {least}")
        self.segments = [RolloutBuffer(*args, **kwargs) for _ in range(num_segments)]
        self.slots: list[int | None] = [None] * num_segments
        self.dropped = 0
        self._held: int | None = None  # the number of the rollout that is read

    def __len__(self) -> int:
        return sum(len(segment) for segment in self.segments)

    @property
    def full(self) -> bool:
        """Whether a whole rollout waits to be learned from."""
        oldest = self._oldest
        return oldest is not None and self.segments[self.slots.index(oldest)].full

    def add(self, transition: Mapping[str, Any]) -> None:
        """Write a step, each entry `[N, ...]`, or the rows of a rollout `[T, N]`.

        ValueError if an entry does not fit: it is not counted.
        """
        if add_rollout(self, transition):
            return
        newest = max((n for n in self.slots if n is not None), default=-1)
        place = self.slots.index(newest) if newest >= 0 else 0
        if newest < 0 or self.segments[place].full:
            place, newest = self._next(), newest + 1
            self.dropped += len(self.segments[place])
            self.segments[place].clear()
            self.slots[place] = newest
        self.segments[place].add(transition)

    def end_episodes(self) -> None:
        """Mark unfinished episodes as truncated: the next step begins new ones."""
        for segment in self.segments:
            segment.end_episodes()

    def rollout(self) -> TensorDict:
        """The oldest rollout `[T, N]`, in the buffer's memory until `clear`.

        RuntimeError if none is whole.
        """
        if not self.full:
            raise RuntimeError("no rollout is whole yet: add steps until `full`")
        self._held = self._oldest
        assert self._held is not None
        return self.segments[self.slots.index(self._held)].rollout()

    def clear(self) -> None:
        """Release the oldest rollout; its memory is written again."""
        if (oldest := self._oldest) is not None:
            place = self.slots.index(oldest)
            self.segments[place].clear()
            self.slots[place] = self._held = None

    def state_dict(self) -> dict[str, Any]:
        """All rollouts, and their numbers."""
        segments = [segment.state_dict() for segment in self.segments]
        return {"segments": segments, "slots": self.slots, "dropped": self.dropped}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; ValueError if it does not fit."""
        for segment, saved in zip(self.segments, state["segments"], strict=True):
            segment.load_state_dict(saved)
        self.slots, self.dropped = list(state["slots"]), state["dropped"]
        self._held = None

    @property
    def _oldest(self) -> int | None:
        return min((n for n in self.slots if n is not None), default=None)

    def _next(self) -> int:
        """The place of the next rollout: a free one, or the oldest that is not read."""
        if None in self.slots:
            return self.slots.index(None)
        others = [n for n in self.slots if n is not None and n != self._held]
        return self.slots.index(min(others))
