"""The trainer of imagination beside rollouts."""

from collections.abc import Mapping
from typing import Any

from tensordict import TensorDict

from yieldrl.abstractions import Logs, Trainer
from yieldrl.experiments import on_ray


class ImaginationSchedule(Trainer):
    """The schedule of `PolicyImagination`: rounds of passes with new branches.

    Actors on Ray imagine the next branches during passes, unless `max_policy_lag` is 0.
    """

    def _make_parts(self, buffer: Any, collector: Any) -> None:
        super()._make_parts(buffer, collector)
        ahead = min(1, self.config.max_policy_lag)
        elsewhere = on_ray.make_imagination(self, ahead=ahead)
        self.algorithm.imagination.elsewhere = elsewhere

    def _end_update(self) -> None:
        if self.algorithm.goes_on():
            self.buffer.begin(None)
        else:
            parent: Any = super()
            parent._end_update()

    def update(self, rollout: TensorDict) -> Logs:
        """Learn from a rollout `[T, N]`, and from all that is imagined after it."""
        logs = super().update(rollout)
        while self.algorithm.goes_on():
            logs |= super().update(rollout)
        return logs

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
