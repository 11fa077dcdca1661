"""How far a rollout is collected and learned from."""

from __future__ import annotations

from dataclasses import dataclass

from yieldrl.buffers.passes import Passes


@dataclass
class Progress:
    """How far the rollout at hand is collected and learned from."""

    row: int = 0
    passes: Passes | None = None

    @property
    def exhausted(self) -> bool:
        """Whether its passes have nothing left to learn from."""
        return self.passes is not None and self.passes.exhausted

    @property
    def begins_anew(self) -> bool:
        """Whether no episode goes on from the rollout before."""
        return False


@dataclass
class RolloutProgress(Progress):
    """All that `clear` forgets, in one object: an exception leaves no half of it."""

    anew: bool = False  # no episode goes on from the rollout before
    abandoned: bool = False  # no episode will go on in the next one

    @property
    def begins_anew(self) -> bool:
        """Whether no episode goes on from the rollout before."""
        return self.anew
