"""The trainer of imagination beside rollouts."""

from collections.abc import Mapping
from typing import Any

from yieldrl.on_policy import OnPolicyTrainer


class RefreshesImagination(OnPolicyTrainer):
    """The schedule of `ImaginesToo`: several rounds of passes, each with new branches.

    Actors on Ray imagine the next branches during passes, unless `max_policy_lag` is 0.
    """

    def _make_parts(self, *args: Any, **kwargs: Any) -> None:
        super()._make_parts(*args, **kwargs)
        ahead = min(1, self.config.max_policy_lag)
        self.algorithm.imagination.elsewhere = self._make_imagination(ahead=ahead)

    def end_passes(self) -> None:
        algorithm: Any = self.algorithm
        if algorithm.goes_on():
            self.buffer.begin(None)
        else:
            super().end_passes()

    def state_dict(self) -> dict[str, Any]:
        state, elsewhere = super().state_dict(), self.algorithm.imagination.elsewhere
        if elsewhere is None:
            return state
        return {**state, "ahead": elsewhere.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        elsewhere = self.algorithm.imagination.elsewhere
        if elsewhere is not None:
            elsewhere.load_state_dict(state.get("ahead", {"parts": []}))
