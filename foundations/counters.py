"""How far training has come, counted by whoever acts and learns."""

from __future__ import annotations

from collections.abc import Mapping


class Counters:
    """Counters of an agent, which others read and it alone moves.

    Attributes:
        sample_step: Environment steps so far, over all environments.
        learn_step: Gradient steps so far.
        sync_step: Gradient steps when the target was last synced.
        policy_version: Rises whenever the weights that act may have changed.
    """

    def __init__(self) -> None:
        self.sample_step = 0
        self.learn_step = 0
        self.sync_step = 0
        self.policy_version = 0

    def count_steps(self, steps: int) -> None:
        """Count environment steps that were taken with actions of the agent."""
        self.sample_step += steps

    def counters(self) -> dict[str, int]:
        """All of them, by their names."""
        return {name: getattr(self, name) for name in _NAMES}

    def restore_counters(self, state: Mapping[str, int]) -> None:
        """Go on counting from what `counters` returned."""
        for name in _NAMES:
            setattr(self, name, state[name])


_NAMES = ("sample_step", "learn_step", "sync_step", "policy_version")
