"""Evaluation as in robotics papers: success rates by task, over a suite."""

import dataclasses
import re
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

from yieldrl.collectors.pace import Pace
from yieldrl.distributed.eval_actor import Share
from yieldrl.distributed.playing import (
    LocalPlayers,
    Players,
    ProcessPlayers,
    RayPlayers,
)
from yieldrl.distributed.pool import pickled
from yieldrl.envs.suites import find_suite
from yieldrl.experiments.suite_results import EpisodeOutcome, SuiteResults
from yieldrl.loggers import record_video

__all__ = ["SuiteEvaluation", "find_suite"]


class SuiteEvaluation:
    """Plays seeded episodes of several tasks.

    Episode `k` of a task begins as `reset(seed=seed + k)` of one environment does, and
    the policy acts for it alone, so the numbers do not depend on the player. Each
    episode is in a file once it has ended, and is not played again.

    Args:
        trainer: Has the agent; its `wrap_envs` wraps the environments.
        tasks: Name -> `env_kwargs`, besides those of the trainer's config.
        results: The results to add outcomes to.
        episodes_per_task: Number of episodes of each task.
        seed: Of the first episode of each task; those of LIBERO begin in the fixed
            first states, in their order, by a multiple of 50.
        workers: Number of other processes that play; with 0 this one does.
        ray: Whether these are actors on Ray.

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
        workers: int = 0,
        ray: bool = False,
    ) -> None:
        if episodes_per_task < 1 or workers < 0:
            raise ValueError(
                f"episodes_per_task = {episodes_per_task}, workers = {workers}: at"
                " least 1 and 0"
            )
        self.trainer, self.tasks, self.results = trainer, tasks, results
        self.seed, self.workers, self.ray = seed, workers, ray
        self.pending = {
            task: [k for k in range(episodes_per_task) if (task, k) not in done]
            for done in [results.outcomes]
            for task in tasks
        }
        self.planned = sum(map(len, self.pending.values()))
        self._shares: dict[str, bytes] = {}
        self._playing: dict[int, tuple[str, int]] = {}  # by worker
        self._players: Players | None = None

    def config(self, task: str) -> Any:
        """The trainer's config, for one environment of a task."""
        own = self.trainer.config
        kwargs = {**own.env_kwargs, **self.tasks[task]}
        changes: dict[str, Any] = {"vectorization": "sync", "eval_episodes": 1}
        return dataclasses.replace(own, env_kwargs=kwargs, **changes)

    @property
    def players(self) -> Players:
        """The players, started when they are first needed."""
        if self._players is None:
            agent, config = self.trainer.agent, self.config(next(iter(self.tasks)))
            kind = RayPlayers if self.ray else ProcessPlayers
            count = min(max(1, self.workers), max(1, self.planned))
            alone = self.workers == 0 and not self.ray
            self._players = LocalPlayers(agent) if alone else kind(agent, config, count)
        return self._players

    def pace(self) -> Pace | None:
        """The longest time of an episode of the first task; None if nothing is left to
        play."""
        task = next((task for task, left in self.pending.items() if left), None)
        if task is None:
            return None
        self.players.ask(0, ("pace", self._share(task), self.seed))
        return self.players.answer()[1]

    def seconds(self, pace: Pace) -> float:
        """The longest time, in seconds, of the remaining episodes."""
        tasks = sum(bool(left) for left in self.pending.values())
        episodes = sum(map(len, self.pending.values()))
        work = pace.making * max(tasks, self.players.count) + pace.episode * episodes
        return work / self.players.count

    def __iter__(self) -> Generator[EpisodeOutcome, None, None]:
        """Play what is left, yielding each episode that has ended, in any order."""
        if not (any(self.pending.values()) or self._playing):
            return
        for worker in range(self.players.count):
            self._ask(worker)
        while self._playing:
            worker, (result, seconds) = self.players.answer()
            task, number = self._playing.pop(worker)
            said = result.successes
            outcome = EpisodeOutcome(
                task=task,
                number=number,
                success=None if said is None else bool(said[0]),
                episode_return=float(result.returns[0]),
                length=int(result.lengths[0]),
                seconds=round(seconds, 3),
            )
            self.results.add(outcome)
            self._ask(worker, task)
            yield outcome

    def films(self, folder: Path, most: int) -> Generator[Path, None, None]:
        """Record the first `most` failures of each task, which are played again."""
        self.close()  # players may need much memory
        own = self.trainer.config
        for task in self.tasks:
            for failure in self.results.failures(task)[:most]:
                name = re.sub(r"[^\w.-]", "_", task)
                path = folder / f"{name}_{failure.number:03d}.mp4"
                if path.exists():
                    continue
                try:
                    self.trainer.config = self.config(task)
                    seed = self.seed + failure.number
                    yield record_video(self.trainer, path, seed=seed)
                finally:
                    self.trainer.config = own

    def close(self) -> None:
        """End the players."""
        if self._players is not None:
            self._players.close()
            self._players = None

    def _ask(self, worker: int, task: str = "") -> None:
        """Give a free worker the next episode, if any is left: of its own task, as a
        change of task takes long, or else of a task that no other worker plays."""
        left = {name: rest for name, rest in self.pending.items() if rest}
        if not left or worker in self._playing:
            return
        if task not in left:
            others = {name for name, _ in self._playing.values()}
            free = [name for name in left if name not in others]
            task = free[0] if free else max(left, key=lambda name: len(left[name]))
        number = self.pending[task].pop(0)
        self._playing[worker] = task, number
        self.players.ask(worker, ("play_one", self._share(task), self.seed + number))

    def _share(self, task: str) -> bytes:
        if task not in self._shares:
            trainer = self.trainer
            source = trainer.evaluator.source
            share = Share(source, self.config(task), type(trainer), as_it_is=False)
            self._shares[task] = pickled(share)
        return self._shares[task]
