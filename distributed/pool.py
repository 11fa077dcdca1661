"""The rollout workers of a run, and their restarts."""

import dataclasses
import sys
import sysconfig
from pathlib import Path
from typing import Any

import cloudpickle
from gymnasium.vector import VectorEnv

from yieldrl.distributed.answers import DeadWorkerError, WorkerError, answer_of
from yieldrl.distributed.cluster import Cluster, places
from yieldrl.distributed.envs import RemoteEnvs
from yieldrl.distributed.inference_pool import InferencePool
from yieldrl.distributed.lives import Lives
from yieldrl.distributed.recipes import EnvRecipe
from yieldrl.distributed.stats import StatsActor
from yieldrl.distributed.versions import versions
from yieldrl.distributed.worker import RolloutWorkerActor
from yieldrl.foundations import Config


class WorkerPool:
    """Rollout workers, each with an equal share of the environments.

    Args:
        source: The argument of `yieldrl.envs.make`.
        config: Says `num_envs`, `rollout_workers` and `ray_address`.
        trainer_class: Its `wrap_envs` wraps the environments.

    Attributes:
        envs: The spaces and the number of the environments.
        inference: The actors that they ask for actions; its `count` may be 0.
        lives: How often each worker was started again.

    Raises:
        ValueError: If the environments cannot be shared equally.
        WorkerError: If they cannot be made.
    """

    def __init__(self, source: Any, config: Config, trainer_class: Any) -> None:
        count = self.count = config.rollout_workers
        if config.num_envs % count:
            raise ValueError(
                f"num_envs = {config.num_envs} cannot be shared equally by"
                f" rollout_workers = {count}: choose a multiple of {count}"
            )
        share = config.num_envs // count
        own = config.in_one_process(num_envs=share, device="cpu")
        self._recipe = EnvRecipe(source, own, trainer_class)
        self.cluster = Cluster(config.ray_address, places(config))
        self.lives = Lives("rollout worker", count, "a finished segment")
        self._begun: Any = None
        self._starting: dict[int, Any] = {}  # answers to `begin` of restarted workers
        try:
            self.stats = self.cluster.actor(StatsActor)
            self.inference = InferencePool(self.cluster, config, own)
            self.actors = [self._made(index) for index in range(count)]
            described = self.ask_all("describe")
        except BaseException:
            self.cluster.close()
            raise
        observed, acted, recorded = described[0]
        self.envs = RemoteEnvs(config.num_envs, observed, acted, recorded, pool=self)

    def envs_here(self) -> VectorEnv[Any, Any, Any]:
        """Environments like those of all workers together, in this process."""
        own = dataclasses.replace(self._recipe.config, num_envs=self.envs.num_envs)
        return dataclasses.replace(self._recipe, config=own).make_here()

    def begin(
        self, agent: Any, seed: int, states: Any = None, acting: Any = None
    ) -> None:
        """Give every worker its agent and begin episodes, or go on from states.

        With inference actors, these have the agent, and continue from states `acting`.
        """
        recipe = self.cluster.put(pickled(agent))
        if self.inference.count:
            self.inference.begin(recipe, acting)
            recipe = None
        self._begun = recipe, seed
        self._starting.clear()
        states = [None] * self.count if states is None else states
        started = [self._begin(i, state) for i, state in enumerate(states)]
        for index, ref in enumerate(started):
            try:
                self.get(index, ref)
            except DeadWorkerError:
                self.restart(index, states[index])

    def call(self, index: int, method: str, *args: Any) -> Any:
        """Call a method of a worker; `get` waits for the answer."""
        return getattr(self.actors[index], method).remote(*args)

    def ask_all(self, method: str) -> list[Any]:
        """The answers of all workers to a call."""
        asked = [self.call(index, method) for index in range(self.count)]
        return [self.get(index, answer) for index, answer in enumerate(asked)]

    def get(self, index: int, answer: Any) -> Any:
        """The answer of a worker, once it has begun.

        Raises:
            WorkerError: As `answer_of`.
        """
        if index in self._starting:  # an error of `begin` explains all later ones
            try:
                self._answer(index, self._starting.pop(index))
            except DeadWorkerError:
                raise
            except WorkerError:
                self._starting[index] = self._begin(index, None)  # for the next call
                raise
        found = self._answer(index, answer)
        self.did_work(index)
        return found

    def did_work(self, index: int) -> None:
        """Note that a worker and its inference actor work: resets deaths in a row."""
        self.lives.did_work(index)
        self.inference.answered(index)

    def _answer(self, index: int, answer: Any) -> Any:
        return answer_of(f"rollout worker {index}", answer)

    def restart(self, index: int, state: Any = None) -> None:
        """Start a worker that has died again: with new episodes, or from a state.

        Raises:
            WorkerError: If it died too often in a row.
        """
        self.lives.begin(index)
        self.cluster.kill(self.actors[index])
        self.actors[index] = self._made(index)
        self._starting[index] = self._begin(index, state)

    def close(self) -> None:
        """End the workers, and Ray if it was started for them."""
        self.inference.close()
        self.cluster.close()

    def _made(self, index: int) -> Any:
        recipe = dataclasses.replace(self._recipe, index=index, life=self.lives[index])
        parts = pickled(recipe), self.count, self.stats, versions()
        place = "rollout_workers", index
        return self.cluster.actor(RolloutWorkerActor, place, *parts)

    def _begin(self, index: int, state: Any) -> Any:
        assert self._begun is not None
        return self.call(index, "begin", *self._begun, state)


def pickled(value: Any) -> bytes:
    """Pickle a value with the code of all modules that no worker could import.

    These are the program itself, and modules that are not installed, such as the copied
    folder of an algorithm.
    """
    installed = {sys.prefix, *sysconfig.get_paths().values()}
    installed |= {place for place in sys.path if place.endswith("-packages")}
    modules = [*sys.modules.values()]  # a module may have several names
    own = {m.__name__: m for m in modules if _is_own(m, installed)}
    for module in own.values():
        cloudpickle.register_pickle_by_value(module)
    try:
        return cloudpickle.dumps(value)
    finally:
        for module in own.values():
            cloudpickle.unregister_pickle_by_value(module)


def _is_own(module: Any, installed: set[str]) -> bool:
    """Whether a module is a file of the user's, in none of these folders."""
    name, file = getattr(module, "__name__", ""), getattr(module, "__file__", None)
    if file is None or name.partition(".")[0] in ("yieldrl", "__main__"):
        return False
    return not any(Path(file).is_relative_to(folder) for folder in installed)
