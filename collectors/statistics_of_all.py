"""Returns and lengths of episodes, over all processes that train together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from yieldrl.collectors.statistics import ArrayStatistics, TensorStatistics
from yieldrl.collectors.stepping import Step
from yieldrl.foundations import ranks


class StatisticsOfAll:
    """What each process hears of its own episodes, brought together now and then.

    All processes report the same, at the same step: so a loop that is left because of
    what it says is left in all of them.

    Args:
        own: Of this process.
        report_every: Steps between reports.
        device: Where the processes meet.
    """

    def __init__(
        self,
        own: ArrayStatistics | TensorStatistics,
        report_every: int,
        device: torch.device,
    ) -> None:
        self.own, self.report_every = own, report_every
        self._sums = torch.zeros(3, dtype=torch.float64, device=device)
        self._steps = 0

    def update(self, step: Step) -> dict[str, float]:
        """Take in a step; every `report_every` steps the means over all episodes."""
        return self._of_all(self.own.update(step))

    def next_row(self) -> dict[str, Tensor]:
        """Where rewards and ends of the next step belong, in worlds of tensors."""
        assert isinstance(self.own, TensorStatistics)
        return self.own.next_row()

    def count_row(self, next_obs: Any, action: Any) -> dict[str, float]:
        """Say that the row is written; what `update` says."""
        assert isinstance(self.own, TensorStatistics)
        return self._of_all(self.own.count_row(next_obs, action))

    def report(self) -> dict[str, float]:
        """The means over all episodes since the latest report; all call it at once."""
        return self._of_all(self.own.report(), at_once=True)

    def _of_all(
        self, logs: Mapping[str, float], *, at_once: bool = False
    ) -> dict[str, float]:
        """Add up what this process reports; what all have reported, if it is time."""
        if logs:
            self._sums += torch.tensor(
                [
                    logs["episodes"],
                    logs["episodes"] * logs["episode_return"],
                    logs["episodes"] * logs["episode_length"],
                ]
            ).to(self._sums)
        self._steps += not at_once
        if self._steps % self.report_every and not at_once:
            return {}
        episodes, returns, lengths = ranks().total(self._sums).tolist()
        self._sums.zero_()
        if episodes == 0:
            return {}
        return {
            "episode_return": returns / episodes,
            "episode_length": lengths / episodes,
            "episodes": episodes,
        }

    def state_dict(self) -> dict[str, Any]:
        """That of this process, and what it has not reported yet."""
        return {**self.own.state_dict(), "unreported": self._sums.clone()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Restore what `state_dict` returned, here or where one process trained."""
        self.own.load_state_dict(state)
        if "unreported" in state:
            self._sums.copy_(state["unreported"])
