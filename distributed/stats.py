"""Statistics of the episodes of all workers, in an actor of their own."""

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from yieldrl.collectors.outcomes import successes, task_names
from yieldrl.collectors.stepping import Step, Stepper
from yieldrl.foundations.conversion import as_array

WINDOW = 100
"""Number of the latest episodes that means are taken of."""

End = tuple[str, bool]
"""The task of an ended episode ('' without a name), and whether it was a success."""


class StatsActor:
    """Gathers the logs of episodes of all workers, and summarises them.

    Args:
        window: Number of the latest reports that means are taken of, and of the latest
            episodes of each task.
    """

    def __init__(self, window: int = WINDOW) -> None:
        self._reports: deque[Mapping[str, float]] = deque(maxlen=window)
        self._ends: deque[bool] = deque(maxlen=window)
        new = partial(deque[bool], maxlen=window)
        self._ends_of: defaultdict[str, deque[bool]] = defaultdict(new)
        self._episodes: defaultdict[int, float] = defaultdict(float)
        self._steps: defaultdict[int, int] = defaultdict(int)

    def add(
        self,
        worker: int,
        steps: int,
        logs: Sequence[Mapping[str, float]],
        ends: Sequence[End] = (),
    ) -> None:
        """Add a worker's environment steps and the logs of ended episodes.

        `ends` are the episodes whose infos tell whether they were a success.
        """
        self._steps[worker] += steps
        for task, success in ends:
            self._ends.append(success)
            if task:
                self._ends_of[task].append(success)
        for log in logs:
            if "episodes" in log:
                self._reports.append(log)
                self._episodes[worker] += log["episodes"]

    def summary(self) -> dict[str, Any]:
        """Steps and episodes by worker, and means over the latest episodes.

        If infos tell successes, also `success_rate`, and `success_rate/NAME` of each
        task that they name.
        """
        summary: dict[str, Any] = {
            "steps": dict(self._steps),
            "episodes": dict(self._episodes),
        }
        count = sum(log["episodes"] for log in self._reports)
        for name in ("episode_return", "episode_length"):
            logs = [log for log in self._reports if name in log]
            if logs:
                total = sum(log["episodes"] for log in logs)
                sums = sum(log["episodes"] * log[name] for log in logs)
                summary[name] = sums / total
        rates = {"": self._ends, **self._ends_of}
        for task, ends in rates.items():
            if ends:
                name = f"success_rate/{task}" if task else "success_rate"
                summary[name] = sum(ends) / len(ends)
        return {**summary, "window": count}


class OutcomeStepper(Stepper):
    """A stepper that records which episodes were a success, if infos tell it."""

    def __init__(self, envs: Any) -> None:
        super().__init__(envs)
        self._ends: list[End] = []

    def step(self, action: Any) -> Step:
        """Take one step in every environment."""
        step = super().step(action)
        ended = np.flatnonzero(as_array(step.ended))
        count = self.envs.num_envs
        success = successes(step.info, count) if len(ended) else None
        if success is not None:
            names = task_names(step.info, count)
            self._ends += [(names[i], bool(success[i])) for i in ended]
        return step

    def take(self) -> list[End]:
        """The episodes that ended since the last call."""
        ends, self._ends = self._ends, []
        return ends
