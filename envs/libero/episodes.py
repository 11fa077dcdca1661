"""Choice of each episode's task and first state."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from yieldrl.envs.libero.suites import Task

WAYS = ("ordered", "drawn", "placed")


class Episodes:
    """Chooses tasks by seeds and options, and goes through their first states.

    Args:
        tasks: The tasks, at least one.
        initial_state: One of `WAYS`, or always the same number.

    Raises:
        ValueError: If it is none of them.

    Attributes:
        task: Of the current episode.
        number: Of its first state; None where everything is placed at random.
        state: The first state, float64 `[S]`; or None.
    """

    def __init__(self, tasks: Sequence[Task], initial_state: int | str) -> None:
        number = isinstance(initial_state, int) and initial_state >= 0
        if not number and initial_state not in WAYS:
            raise ValueError(
                f"initial_state = {initial_state!r}: one of {WAYS}, or a number from 0"
            )
        self.tasks, self.initial_state = list(tasks), initial_state
        self.task = self.tasks[0]
        self.number: int | None = None
        self.state: np.ndarray | None = None
        self._following = 0
        self._of: Task | None = None
        self._states = np.zeros((0, 0))

    def begin(
        self, seed: int | None, options: Mapping[str, Any], rng: np.random.Generator
    ) -> None:
        """Take the next episode: `seed % len(tasks)` is its task and
        `seed // len(tasks)` its first state, unless the options say another.

        Raises:
            ValueError: If there is no such task, or first state.
        """
        count = len(self.tasks)
        if seed is not None:
            self.task, self._following = self.tasks[seed % count], seed // count
        if "task" in options:
            at = options["task"]
            if not 0 <= at < count:
                raise ValueError(f"options: task = {at}: there are 0 to {count - 1}")
            self.task = self.tasks[at]
        if self._of is not self.task:
            self._of, self._states = self.task, self.task.states()
        self.number = self._chosen(options, rng)
        self.state = None if self.number is None else self._states[self.number]

    def _chosen(
        self, options: Mapping[str, Any], rng: np.random.Generator
    ) -> int | None:
        count = len(self._states)
        way = options.get("initial_state", self.initial_state)
        if way == "placed":
            return None
        if way == "drawn":
            return int(rng.integers(count))
        number = self._following % count if way == "ordered" else int(way)
        if not 0 <= number < count:
            raise ValueError(
                f"initial_state = {number}: {self.task.name} has 0 to {count - 1}"
            )
        self._following = number + 1
        return number
