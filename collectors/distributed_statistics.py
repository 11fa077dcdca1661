"""Returns and lengths of episodes over several processes, or several steps."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from yieldrl.collectors.statistics import ArrayStatistics, TensorStatistics, mean_logs
from yieldrl.collectors.stepping import Step, named_leaves
from yieldrl.core import ranks, spaces


class DistributedStatistics:
    """Sums the episode statistics of all processes, every `report_every` steps.

    All report the same logs at the same step, so that a loop which stops because of
    them stops in every process. `own` are the statistics of this one.
    """

    def __init__(self, own: Any, report_every: int, device: torch.device) -> None:
        self.own, self.report_every = own, report_every
        self._sums = torch.zeros(3, dtype=torch.float64, device=device)
        self._steps = 0

    def update(self, step: Step) -> dict[str, float]:
        """Add a step; every `report_every` steps the means over all episodes."""
        return self._reduce(self.own.update(step))

    def report(self) -> dict[str, float]:
        """The means over all episodes since the latest report; a collective call."""
        return self._reduce(self.own.report(), now=True)

    def _reduce(
        self, logs: Mapping[str, float], *, now: bool = False
    ) -> dict[str, float]:
        """Add the logs of this process; the means of all processes, if they are due."""
        if logs:
            means = 1.0, logs["episode_return"], logs["episode_length"]
            sums = torch.tensor([logs["episodes"] * mean for mean in means])
            self._sums += sums.to(self._sums)
        self._steps += not now
        if self._steps % self.report_every and not now:
            return {}
        episodes, returns, lengths = ranks().all_reduce_sum(self._sums).tolist()
        self._sums.zero_()
        return mean_logs(episodes, returns, lengths)

    def state_dict(self) -> dict[str, Any]:
        """The state of this process, and what it has not reported yet."""
        return {**self.own.state_dict(), "unreported": self._sums.clone()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.own.load_state_dict(state)
        if "unreported" in state:
            self._sums.copy_(state["unreported"])


def make_statistics(
    obs: Any, num_envs: int, report_every: int, device: torch.device
) -> Any:
    """Statistics for such observations; collective operations are on `device`."""
    own: Any = ArrayStatistics(num_envs)
    if spaces.holds_tensors(obs):
        _, leaf = named_leaves(obs, "")[0]
        own = TensorStatistics(num_envs, leaf.device, report_every)
    return (
        own if ranks().count == 1 else DistributedStatistics(own, report_every, device)
    )


def mean_episode(logs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The logs of several steps as one, with the mean over all of their episodes.

    >>> few = {"episode_return": 1.0, "episode_length": 1.0, "episodes": 1.0}
    >>> more = {"episode_return": 4.0, "episode_length": 5.0, "episodes": 3.0}
    >>> mean_episode([few, {}, more])
    {'episode_return': 3.25, 'episode_length': 4.0, 'episodes': 4.0}
    """
    whole = {name: value for log in logs for name, value in log.items()}
    ended = [log for log in logs if "episodes" in log]
    count = sum(log["episodes"] for log in ended)
    names = ("episode_return", "episode_length")
    sums = [sum(log["episodes"] * log[name] for log in ended) for name in names]
    return {**whole, **mean_logs(count, *sums)}
