"""Evaluation as in robotics papers: success by task, over a suite of tasks."""

import dataclasses
import json
import multiprocessing
import os
import re
import signal
from collections.abc import Generator, Iterable, Mapping
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from yieldrl.collectors.outcomes import Evaluation
from yieldrl.distributed.actors import WorkerError
from yieldrl.distributed.cluster import Cluster
from yieldrl.distributed.evaluation import EnvShare, EvalActor
from yieldrl.distributed.recipes import AgentRecipe, pickled
from yieldrl.envs import processes
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
        successes = [o.success for o in some if o.success is not None]
        return Evaluation(
            np.array([o.episode_return for o in some]),
            np.array([o.length for o in some]),
            np.array(successes) if len(successes) == len(some) else None,
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
        self._playing: dict[Future[Any], tuple[int, str, int]] = {}
        self._players: Players | None = None

    def config(self, task: str) -> Any:
        """The trainer's config, for one environment of a task."""
        config = self.trainer.config
        kwargs = {**config.env_kwargs, **self.tasks[task]}
        changes: dict[str, Any] = {"vectorization": "sync", "eval_episodes": 1}
        return dataclasses.replace(config, env_kwargs=kwargs, **changes)

    @property
    def players(self) -> "Players":
        """The players, started when they are first needed."""
        if self._players is None:
            count = min(max(1, self.workers), max(1, self.planned))
            config, agent = self.trainer.config, self.trainer.agent
            if self.ray:
                self._players = RayPlayers(agent, config, count)
            elif self.workers:
                self._players = ProcessPlayers(agent, count)
            else:
                self._players = Players(agent)
        return self._players

    def __iter__(self) -> Generator[EpisodeOutcome, None, None]:
        """Play what is left, yielding each episode that has ended, in any order."""
        if not (any(self.pending.values()) or self._playing):
            return
        for worker in range(self.players.count):
            self._ask(worker)
        while self._playing:
            future = self.players.first(self._playing)
            worker, task, number = self._playing.pop(future)
            result, seconds = self.players.result(worker, future)
            successes = result.successes
            outcome = EpisodeOutcome(
                task=task,
                number=number,
                success=None if successes is None else bool(successes[0]),
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
        config = self.trainer.config
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
                    self.trainer.config = config

    def close(self) -> None:
        """End the players."""
        if self._players is not None:
            self._players.close()
            self._players = None

    def _ask(self, worker: int, task: str = "") -> None:
        """Give a free worker the next episode, if any is left: of its own task, as a
        change of task takes long, or else of a task that no other worker plays."""
        left = {name: rest for name, rest in self.pending.items() if rest}
        if not left or worker in {own for own, *_ in self._playing.values()}:
            return
        if task not in left:
            others = {name for _, name, _ in self._playing.values()}
            free = [name for name in left if name not in others]
            task = free[0] if free else max(left, key=lambda name: len(left[name]))
        number = self.pending[task].pop(0)
        args = self._share(task), None, 1, self.seed + number
        self._playing[self.players.ask(worker, *args)] = worker, task, number

    def _share(self, task: str) -> bytes:
        if task not in self._shares:
            trainer = self.trainer
            source = trainer.evaluator.source
            parts = source, self.config(task), type(trainer)
            share = EnvShare(*parts, alone=True)
            self._shares[task] = pickled(share)
        return self._shares[task]


class Players:
    """One player in this process; subclasses have several in others.

    Args:
        agent: The agent that acts.
    """

    count = 1

    def __init__(self, agent: Any) -> None:
        self._actor = EvalActor()
        self._actor.agent = agent

    def ask(self, worker: int, *args: Any) -> Future[Any]:
        """The future answer of a free player to `EvalActor.play`."""
        self._args = args
        return Future()

    def first(self, futures: Iterable[Future[Any]]) -> Future[Any]:
        """Wait for the first of several answers."""
        (future,) = futures
        future.set_result(self._actor.play(*self._args))
        return future

    def result(self, worker: int, future: Future[Any]) -> Any:
        """The answer to a call.

        Raises:
            WorkerError: If it failed in another process, or that has ended.
        """
        return future.result()

    def close(self) -> None:
        """End all players."""
        self._actor.close()


class ProcessPlayers(Players):
    """Players in processes of their own, each with a copy of the agent.

    They start side by side, by forkserver or spawn, and know what is importable.

    Args:
        agent: The agent that acts.
        count: How many.
    """

    def __init__(self, agent: Any, count: int) -> None:
        self.count = count
        context = multiprocessing.get_context(processes.start_method())
        recipe = pickled(AgentRecipe.of(agent))
        self._pools = [
            ProcessPoolExecutor(1, context, initializer=_begin, initargs=(recipe,))
            for _ in range(count)
        ]
        with processes.without_main():
            self._pids = [pool.submit(os.getpid) for pool in self._pools]

    def ask(self, worker: int, *args: Any) -> Future[Any]:
        return self._pools[worker].submit(_play, *args)

    def first(self, futures: Iterable[Future[Any]]) -> Future[Any]:
        return wait(futures, return_when=FIRST_COMPLETED).done.pop()

    def result(self, worker: int, future: Future[Any]) -> Any:
        try:
            return future.result()
        except BrokenExecutor as error:
            raise WorkerError(
                f"evaluation worker {worker} has ended: it was killed, or memory ran"
                " out; the same command goes on where it was, and fewer workers need"
                " less memory"
            ) from error
        except Exception as error:
            message = f"evaluation worker {worker}: {type(error).__name__}: {error}"
            raise WorkerError(message) from error

    def close(self) -> None:
        for pool, pid in zip(self._pools, self._pids, strict=True):
            pool.shutdown(wait=False, cancel_futures=True)
            if pid.done() and pid.exception() is None:
                with suppress(ProcessLookupError):  # it has ended already
                    os.kill(pid.result(), signal.SIGTERM)


class RayPlayers(ProcessPlayers):
    """Players in actors on Ray, each with a copy of the agent.

    Args:
        agent: The agent that acts.
        config: Its config; `ray_address` says which Ray.
        count: How many.
    """

    def __init__(self, agent: Any, config: Any, count: int) -> None:
        self.count, role = count, "eval_actors"
        on_gpu = float(config.device.startswith("cuda"))
        needs = {role: {"GPU": on_gpu}}
        self._cluster = Cluster(config.ray_address, {role: count}, needs)
        recipe = self._cluster.put(pickled(AgentRecipe.of(agent)))
        parts = EvalActor, role, recipe
        self._actors = [self._cluster.actor(*parts) for _ in range(count)]

    def ask(self, worker: int, *args: Any) -> Future[Any]:
        return self._actors[worker].play.remote(*args).future()

    def close(self) -> None:
        self._cluster.close()


_player = EvalActor()  # of a process of `ProcessPlayers`


def _begin(recipe: bytes) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles it
    _player.begin(recipe)


def _play(*args: Any) -> Any:
    return _player.play(*args)
