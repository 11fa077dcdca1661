"""Statistics of the episodes of all workers, in an actor of their own."""

from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from yieldrl.collectors.evaluation import successes, task_names
from yieldrl.collectors.statistics import mean_episode
from yieldrl.collectors.stepping import Step, Stepper
from yieldrl.core.conversion import as_array

WINDOW = 100
"""Number of the latest episodes that means are taken of."""

REPORTED = "episode_return", "episode_length", "episodes"
"""Entries of logs that are summarised."""

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
        # By task, and of all tasks as "".
        self._successes = defaultdict[str, deque[bool]](lambda: deque(maxlen=window))
        self._episodes, self._steps = Counter[int](), Counter[int]()  # by worker

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
            for name in {task, ""}:
                self._successes[name].append(success)
        for log in logs:
            if "episodes" in log:
                self._reports.append({name: log[name] for name in REPORTED})
                self._episodes[worker] += int(log["episodes"])

    def summary(self) -> dict[str, Any]:
        """Steps and episodes by worker, and means over the latest episodes.

        If infos tell successes, also `success_rate`, and `success_rate/NAME` of each
        task that they name.
        """
        means = mean_episode([*self._reports])
        window = means.pop("episodes", 0.0)
        for task, successes_of_task in self._successes.items():
            name = f"success_rate/{task}" if task else "success_rate"
            means[name] = sum(successes_of_task) / len(successes_of_task)
        counts = {"steps": dict(self._steps), "episodes": dict(self._episodes)}
        return {**counts, **means, "window": window}


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
