"""When a side was where: what counts as training's time, and what does not."""

import sys
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any

from .contract import Task, mean_return


class TrainingEnds(Exception):  # noqa: N818 (it is none)
    """Thrown out of a loop that belongs to a library."""


class Clock:
    """Takes the time at the first step from `warm_up` on, and at the last one.
    Evaluations go through it, so that their time does not count."""

    def __init__(self, task: Task, evaluate: Callable[[], float]) -> None:
        self.task, self.evaluate = task, evaluate
        self.done = False
        self.curve: list[tuple[int, float, float]] = []
        self._away = (0.0, 0.0)
        self.steps = 0
        self._marks: list[tuple[int, float, float]] = []
        self._begin = _now()

    @classmethod
    def of_episodes(
        cls, task: Task, act: Callable[[Any], Any], make: Callable[[], Any]
    ) -> "Clock":
        """One that evaluates in episodes of an environment of Gymnasium's."""
        seed = 10_000 + task.seed
        return cls(task, lambda: mean_return(act, make, task.episodes, seed))

    def __call__(self, steps: int) -> None:
        """Hear that so many environment steps were taken in all."""
        before, self.steps = self.steps, steps
        task = self.task
        if not self._marks and steps >= task.warm_up:
            self._mark()
        every = task.evaluate_every
        if every and steps // every > before // every:
            self._look()
        ends = steps >= task.steps
        if ends and not self.done and self._marks:
            self._mark()
        self.done = self.done or ends

    def or_end(self, steps: int) -> None:
        """Hear it, and throw `TrainingEnds` if that was enough."""
        self(steps)
        if self.done:
            raise TrainingEnds

    def finish(self, updates: int, packages: tuple[str, ...]) -> dict[str, Any]:
        """What the side answers, with the versions of the packages that decide a
        measurement."""
        untimed = not self._marks or self._marks[0][0] == self.steps
        if untimed:
            raise SystemExit(
                f"{self.task.workload}: nothing was timed in {self.steps} steps, of"
                f" which {self.task.warm_up} warm up: choose more --steps"
            )
        while len(self._marks) < 2:  # it ended early
            self._mark()
        (begin, *first), (end, *last) = self._marks
        answer: dict[str, Any] = {
            "steps": end,
            "timed_from": begin,
            "updates": updates,
            "seconds": last[0] - self._begin[0],
        }
        answer["steps_per_second"] = (end - begin) / (last[0] - first[0])
        answer["steps_per_cpu_second"] = (end - begin) / (last[1] - first[1])
        answer["return"] = self._look()
        answer["evaluation_seconds"] = self._away[0]
        return answer | {"curve": self.curve, "versions": _versions(packages)}

    def _mark(self) -> None:
        wall, cpu = _now()
        self._marks.append((self.steps, wall - self._away[0], cpu - self._away[1]))

    def _look(self) -> float:
        """Evaluate; the time of it does not count."""
        begin = _now()
        if self.curve and self.curve[-1][0] == self.steps:
            return self.curve[-1][2]
        value = float(self.evaluate())
        seconds = begin[0] - self._away[0] - self._begin[0]
        self.curve.append((self.steps, seconds, value))
        away = zip(self._away, _now(), begin, strict=True)
        self._away = tuple(sum_ + now - then for sum_, now, then in away)
        return value


def _now() -> tuple[float, float]:
    """Seconds of the wall's clock, and of the processor."""
    return time.perf_counter(), time.process_time()


def _versions(packages: tuple[str, ...]) -> dict[str, str]:
    python = ".".join(map(str, sys.version_info[:3]))
    return {"python": python} | {name: metadata.version(name) for name in packages}
