"""Results of a policy in a suite of tasks: a file that grows by episodes."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from yieldrl.collectors.outcomes import Evaluation
from yieldrl.loggers.files import write_atomically


class EpisodeOutcome(NamedTuple):
    """One episode of a suite.

    Attributes:
        task: The name of its task.
        number: Index among the task's episodes, from 0.
        success: Whether the task was done; None if infos do not tell.
        episode_return: Its sum of rewards.
        length: Number of its decisions: steps, or chunks of them.
        seconds: The time it took to play.
    """

    task: str
    number: int
    success: bool | None
    episode_return: float
    length: int
    seconds: float


class SuiteResults:
    """The episodes so far, in a JSON file that is complete after each of them.

    Args:
        path: The file; it is read if it exists.
        about: Settings that the numbers depend on: checkpoint, suite, seed ...

    Raises:
        ValueError: If the file has other settings.
    """

    def __init__(self, path: str | Path, about: Mapping[str, Any]) -> None:
        self.path, self.about = Path(path), json.loads(json.dumps(about))
        self.outcomes: dict[tuple[str, int], EpisodeOutcome] = {}
        if not self.path.is_file():
            return
        found = json.loads(self.path.read_text())
        outcomes = found.pop("episodes", [])
        if found != self.about:
            names = {**found, **self.about}
            wrong = [n for n in names if found.get(n) != self.about.get(n)]
            raise ValueError(
                f"{path} is of another evaluation: {', '.join(wrong)} was"
                f" {[found.get(n) for n in wrong]}, and is"
                f" {[self.about.get(n) for n in wrong]}; name another file with --out,"
                " or delete this one"
            )
        for outcome in (EpisodeOutcome(**values) for values in outcomes):
            self.outcomes[outcome.task, outcome.number] = outcome

    def add(self, outcome: EpisodeOutcome) -> None:
        """Add an episode, and write all of them to the file, in order."""
        self.outcomes[outcome.task, outcome.number] = outcome
        tasks = [*self.about["tasks"]]
        ordered = sorted(
            self.outcomes.values(), key=lambda o: (tasks.index(o.task), o.number)
        )
        values = {**self.about, "episodes": [one._asdict() for one in ordered]}
        write_atomically(self.path, json.dumps(values, indent=1) + "\n")

    def evaluation(self, task: str | None = None) -> Evaluation | None:
        """The evaluation of all episodes, or of one task's; None if there are none."""
        some = [o for o in self.outcomes.values() if task in (None, o.task)]
        if not some:
            return None
        said = [o.success for o in some if o.success is not None]
        return Evaluation(
            np.array([o.episode_return for o in some]),
            np.array([o.length for o in some]),
            np.array(said) if len(said) == len(some) else None,
        )

    def failures(self, task: str) -> list[EpisodeOutcome]:
        """Episodes of a task that were no success, in order."""
        failed = [o for o in self.outcomes.values() if o.success is False]
        return sorted(o for o in failed if o.task == task)

    def report(self) -> str:
        """The text with a line for each task, and the last one for all."""
        names = [*self.about["tasks"]]
        rows = [(name, self.evaluation(name)) for name in names]
        rows.append((f"{self.about['suite']}, {len(names)} tasks", self.evaluation()))
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:{width}}  {_said(of)}" for name, of in rows)


def _said(of: Evaluation | None) -> str:
    """The success rate with its interval; without one the mean return."""
    if of is None:
        return "not played"
    count = len(of.returns)
    if of.successes is None:
        return f"return {of.returns.mean():.2f} +- {of.returns.std():.2f} of {count}"
    low, high = (f"{bound:.1%}" for bound in of.success_interval())
    reached, rate = int(of.successes.sum()), of.successes.mean()
    return f"{rate:6.1%}  {reached} of {count}, 95 % interval {low} to {high}"
