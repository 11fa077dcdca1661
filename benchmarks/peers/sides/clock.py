"""When a side was where: what counts as training's time, and what does not."""

import sys
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any

from .contract import Task


class Clock:
    """Takes the time at the first step from `warm_up` on, and at the last one.
    Evaluations go through it, so that their time does not count."""

    def __init__(self, task: Task, evaluate: Callable[[], float]) -> None:
        self.task, self.evaluate = task, evaluate
        self.done = False
        self.curve: list[tuple[int, float, float]] = []
        self._away = 0.0  # seconds of evaluations
        self.steps = 0
        self._marks: list[tuple[int, float]] = []
        self._begin = time.perf_counter()

    def __call__(self, steps: int) -> None:
        """Hear that so many environment steps were taken in all."""
        before, self.steps = self.steps, steps
        task, every = self.task, self.task.evaluate_every
        if not self._marks and steps >= task.warm_up:
            self._mark()
        if every and steps // every > before // every:
            self._look()
        ends = steps >= task.steps
        if ends and not self.done and self._marks:
            self._mark()
        self.done = self.done or ends

    def finish(self, updates: int, packages: tuple[str, ...]) -> dict[str, Any]:
        """What the side answers, with the versions of the packages that decide a
        measurement."""
        while len(self._marks) < 2:  # it ended early
            self._mark()
        (begin, first), (end, last) = self._marks
        answer: dict[str, Any] = {"steps": end, "timed_from": begin, "updates": updates}
        answer |= {"seconds": last - self._begin, "return": self._look()}
        answer["steps_per_second"] = (end - begin) / (last - first)
        versions = {"python": ".".join(map(str, sys.version_info[:3]))}
        versions |= {name: metadata.version(name) for name in packages}
        answer |= {"evaluation_seconds": self._away, "curve": self.curve}
        return answer | {"versions": versions}

    def _mark(self) -> None:
        self._marks.append((self.steps, time.perf_counter() - self._away))

    def _look(self) -> float:
        """Evaluate; the time of it does not count."""
        begin = time.perf_counter()
        if self.curve and self.curve[-1][0] == self.steps:
            return self.curve[-1][2]
        value = float(self.evaluate())
        seconds = begin - self._away - self._begin
        self.curve.append((self.steps, seconds, value))
        self._away += time.perf_counter() - begin
        return value
