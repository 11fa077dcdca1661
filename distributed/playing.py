"""Episode players: in this process, in subprocesses, or on Ray."""

import importlib
import multiprocessing
import multiprocessing.connection
import pickle
import signal
import traceback
from copy import deepcopy
from typing import Any

from yieldrl.collectors.evaluation import Evaluation
from yieldrl.collectors.pace import Pace
from yieldrl.distributed.answers import WorkerError, answer_of
from yieldrl.distributed.cluster import Cluster
from yieldrl.distributed.eval_actor import EvalActor
from yieldrl.distributed.pool import pickled
from yieldrl.distributed.recipes import AgentRecipe
from yieldrl.envs import processes as env_processes
from yieldrl.foundations import Config

Work = tuple[str, bytes, int]
"""The method of `EvalActor` to call, the `Share`, and the seed of the episode."""


class LocalPlayers:
    """Plays in this process, with the given agent."""

    count = 1

    def __init__(self, agent: Any) -> None:
        self._actor = EvalActor(agent)
        self._work: Work | None = None

    def ask(self, worker: int, work: Work) -> None:
        """Give work to a player that is free."""
        self._work = work

    def answer(self) -> tuple[int, Any]:
        """The next player that has finished its work, and its answer.

        Raises:
            WorkerError: If it failed, or died.
        """
        assert self._work is not None
        method, share, seed = self._work
        return 0, getattr(self._actor, method)(share, seed)

    def close(self) -> None:
        """End all players."""
        self._actor.close()


class ProcessPlayers:
    """Plays in processes of their own, each with a copy of the agent.

    They start side by side, by forkserver or spawn, and know what is importable.

    Args:
        agent: The agent that acts.
        config: Of one process.
        count: How many.
    """

    def __init__(self, agent: Any, config: Config, count: int) -> None:
        self.count = count
        context: Any = multiprocessing.get_context(env_processes.start_method())
        self._pipes, self._processes = [], []
        recipe = pickled((recipe_of(agent), config))
        try:
            with env_processes.without_main():
                for _ in range(count):
                    ours, theirs = context.Pipe()
                    process = context.Process(target=_serve, args=(theirs,))
                    process.daemon = True  # ends with this one
                    self._pipes.append(ours)
                    process.start()
                    self._processes.append(process)
                    theirs.close()
            for pipe in self._pipes:
                pipe.send_bytes(recipe)
        except BaseException:
            self.close()
            raise

    def ask(self, worker: int, work: Work) -> None:
        """See `LocalPlayers`."""
        self._pipes[worker].send(work)

    def answer(self) -> tuple[int, Any]:
        """See `LocalPlayers`."""
        pipe = multiprocessing.connection.wait(self._pipes)[0]
        worker = self._pipes.index(pipe)
        try:
            error, found = self._pipes[worker].recv()
        except (EOFError, ConnectionResetError):
            process = self._processes[worker]
            process.join(env_processes.GRACE)
            raise WorkerError(
                f"evaluation worker {worker} has ended (exit code {process.exitcode}):"
                " it was killed, or memory ran out; the same command goes on where it"
                " was, and fewer workers need less memory"
            ) from None
        if error:
            raise WorkerError(f"evaluation worker {worker}: {error}\n\nThere:\n{found}")
        return worker, found

    def close(self) -> None:
        """See `LocalPlayers`."""
        for pipe in self._pipes:
            pipe.close()  # then the processes end
        env_processes.end_workers(self._processes, [], env_processes.GRACE)


class RayPlayers:
    """Plays in actors on Ray, each with a copy of the agent.

    Args:
        agent: The agent that acts.
        config: Of one process; `ray_address` says which Ray.
        count: How many.
    """

    def __init__(self, agent: Any, config: Config, count: int) -> None:
        self.count = count
        needs = {"CPU": 1.0}
        if config.device.startswith("cuda"):
            needs["GPU"] = 1.0
        self._cluster = Cluster(config.ray_address, {"eval_actors": [needs] * count})
        self._asked: dict[Any, int] = {}
        try:
            places = [("eval_actors", i) for i in range(count)]
            self._actors = [self._cluster.actor(EvalActor, place) for place in places]
            recipe = self._cluster.put(recipe_of(agent))
            taken = [actor.take.remote(recipe, config) for actor in self._actors]
            for i, answer in enumerate(taken):
                answer_of(f"eval actor {i}", answer)
        except BaseException:
            self.close()
            raise

    def ask(self, worker: int, work: Work) -> None:
        """See `LocalPlayers`."""
        method, share, seed = work
        answer = getattr(self._actors[worker], method).remote(share, seed)
        self._asked[answer] = worker

    def answer(self) -> tuple[int, Any]:
        """See `LocalPlayers`."""
        ready, _ = importlib.import_module("ray").wait([*self._asked])
        worker = self._asked.pop(ready[0])
        return worker, answer_of(f"eval actor {worker}", ready[0])

    def close(self) -> None:
        """See `LocalPlayers`."""
        self._cluster.close()


Players = LocalPlayers | ProcessPlayers | RayPlayers
Answer = tuple[Evaluation, float] | Pace


def recipe_of(agent: Any) -> bytes:
    """An `AgentRecipe` with the current weights, pickled."""
    kinds = type(agent), type(agent.algorithm)
    return pickled(AgentRecipe(*kinds, deepcopy(agent.model).to("cpu")))


def _serve(pipe: Any) -> None:
    """Serve requests from a pipe, until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles it
    actor = EvalActor()
    try:
        parts, failed = pipe.recv_bytes(), ()
        try:
            actor.take(*pickle.loads(parts))
        except Exception as error:
            failed = _said(error)
        while True:
            method, share, seed = pipe.recv()
            try:
                found = failed or ("", getattr(actor, method)(share, seed))
            except Exception as error:
                found = _said(error)
            pipe.send(found)
    except (EOFError, OSError):
        actor.close()


def _said(error: Exception) -> tuple[str, str]:
    told = "".join(traceback.format_exception(error)).rstrip()
    return f"{type(error).__name__}: {error}", told
