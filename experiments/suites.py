"""Evaluation as in robotics papers: success by task, over a suite of tasks."""

import dataclasses
import json
import re
import time
from collections.abc import Generator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from yieldrl.collectors import evaluate_in_order
from yieldrl.collectors.evaluation import Evaluation
from yieldrl.envs import make_eval
from yieldrl.envs.names import find_suite
from yieldrl.loggers import record_video
from yieldrl.loggers.files import write_atomically

__all__ = ["EpisodeOutcome", "SuiteEvaluation", "SuiteResults", "find_suite"]


class EpisodeOutcome(NamedTuple):
    """One episode of a suite.

    Attributes:
        task: The name of its task.
        number: Index among the task's episodes, from 0.
        success: Whether the task was done; None if infos do not tell.
        episode_return: Its sum of rewards.
        length: Number of its decisions: steps, or chunks of them.
        seconds: The time that those beside it and it took, divided by their number.
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
        content = json.loads(self.path.read_text())
        outcomes = content.pop("episodes", [])
        if content != self.about:
            names = {**content, **self.about}
            wrong = [n for n in names if content.get(n) != self.about.get(n)]
            raise ValueError(
                f"{path} is of another evaluation: {', '.join(wrong)} was"
                f" {[content.get(n) for n in wrong]}, and is"
                f" {[self.about.get(n) for n in wrong]}; name another file with --out,"
                " or delete this one"
            )
        for outcome in (EpisodeOutcome(**values) for values in outcomes):
            self.outcomes[outcome.task, outcome.number] = outcome

    def add(self, *outcomes: EpisodeOutcome) -> None:
        """Add episodes, and write all of them to the file, in order."""
        self.outcomes |= {(one.task, one.number): one for one in outcomes}
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
        successes = [o.success for o in some if o.success is not None]
        return Evaluation(
            np.array([o.episode_return for o in some]),
            np.array([o.length for o in some]),
            np.array(successes) if len(successes) == len(some) else None,
        )

    def report(self) -> str:
        """The text with a line for each task, and the last one for all."""
        names = [*self.about["tasks"]]
        rows = [(name, self.evaluation(name)) for name in names]
        rows.append((f"{self.about['suite']}, {len(names)} tasks", self.evaluation()))
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:{width}}  {_in_words(of)}" for name, of in rows)


def _in_words(result: Evaluation | None) -> str:
    """The success rate with its interval; without one the mean return."""
    if result is None:
        return "not played"
    returns, successes = result.returns, result.successes
    if successes is None:
        return f"return {returns.mean():.2f} +- {returns.std():.2f} of {len(returns)}"
    low, high = (f"{bound:.1%}" for bound in result.success_interval())
    reached = f"{successes.mean():6.1%}  {int(successes.sum())} of {len(successes)}"
    return f"{reached}, 95 % interval {low} to {high}"


class SuiteEvaluation:
    """Plays seeded episodes of several tasks, as `evaluate_in_order` plays them.

    Episode `k` of a task begins as `reset(seed=seed + k)` of one environment does.
    Several are played side by side; when they have ended they are in a file, and are
    not played again.

    Args:
        trainer: Has the agent; its `wrap_envs` wraps the environments.
        tasks: Name -> `env_kwargs`, besides those of the trainer's config.
        results: The results to add outcomes to.
        episodes_per_task: Number of episodes of each task.
        seed: Of the first episode of each task; those of LIBERO begin in the fixed
            first states, in their order, by a multiple of 50.
        workers: Number of episodes that are played side by side; with more than one
            each environment has a process of its own.

    Attributes:
        pending: Task -> the numbers of its episodes that are left to play.

    Example:
        ```python
        for outcome in SuiteEvaluation(trainer, tasks, results, 50):
            print(outcome)
        print(results.report())
        ```
    """

    def __init__(
        self,
        trainer: Any,
        tasks: Mapping[str, Mapping[str, Any]],
        results: SuiteResults,
        episodes_per_task: int,
        *,
        seed: int = 0,
        workers: int = 1,
    ) -> None:
        if episodes_per_task < 1 or workers < 1:
            raise ValueError(
                f"episodes_per_task = {episodes_per_task}, workers = {workers}: choose"
                " at least 1"
            )
        self.trainer, self.tasks, self.results = trainer, tasks, results
        self.seed, self.workers = seed, workers
        self.pending = {
            task: [k for k in range(episodes_per_task) if (task, k) not in done]
            for done in [results.outcomes]
            for task in tasks
        }
        self.planned = sum(map(len, self.pending.values()))

    def config(self, task: str, **changes: Any) -> Any:
        """The trainer's config, with the environment of a task."""
        config = self.trainer.config
        kwargs = {**config.env_kwargs, **self.tasks[task]}
        return dataclasses.replace(config, env_kwargs=kwargs, **changes)

    def __iter__(self) -> Generator[EpisodeOutcome, None, None]:
        """Play what is left, task by task, yielding each episode that has ended."""
        for task, left in self.pending.items():
            if left:
                with closing(self._envs(task, min(self.workers, len(left)))) as envs:
                    while left:
                        yield from self._played(task, left, envs)

    def films(self, folder: Path, most: int) -> Generator[Path, None, None]:
        """Record the first `most` failures of each task, which are played again."""
        config = self.trainer.config
        outcomes = self.results.outcomes.items()
        failed = sorted(where for where, one in outcomes if one.success is False)
        for task in self.tasks:
            for number in [number for name, number in failed if name == task][:most]:
                name = re.sub(r"[^\w.-]", "_", task)
                path = folder / f"{name}_{number:03d}.mp4"
                if path.exists():
                    continue
                try:
                    self.trainer.config = self.config(task)
                    yield record_video(self.trainer, path, seed=self.seed + number)
                finally:
                    self.trainer.config = config

    def _envs(self, task: str, count: int) -> Any:
        """So many environments of a task."""
        trainer, mode = self.trainer, "sync" if count == 1 else "async"
        parts = trainer.evaluator.source, self.config(task, vectorization=mode)
        options = {"device": str(trainer.agent.device), "num_envs": count}
        return trainer.wrap_envs(make_eval(*parts, **options), training=False)

    def _played(self, task: str, left: list[int], envs: Any) -> list[EpisodeOutcome]:
        """Play as many of the episodes that are left as there are environments."""
        some, began = left[: envs.num_envs], time.monotonic()
        seeds = [self.seed + number for number in some]
        result = evaluate_in_order(self.trainer.agent, envs, seeds)
        seconds = round((time.monotonic() - began) / len(some), 3)
        successes = [None] * len(some)
        if result.successes is not None:
            successes = result.successes.tolist()
        columns = successes, result.returns.tolist(), result.lengths.tolist()
        outcomes = [
            EpisodeOutcome(task, *values, seconds)
            for values in zip(some, *columns, strict=True)
        ]
        self.results.add(*outcomes)
        del left[: len(some)]
        return outcomes
