"""The rollout workers of a run, and the inference actors that they ask for actions."""

import dataclasses
from typing import Any, NoReturn

import gymnasium as gym
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space

from yieldrl.core import Config, derive_seed
from yieldrl.distributed.actors import ActorPool, DeadWorkerError
from yieldrl.distributed.cluster import Cluster
from yieldrl.distributed.inference import InferenceActor
from yieldrl.distributed.recipes import EnvRecipe, Recipe, pickled
from yieldrl.distributed.stats import StatsActor
from yieldrl.distributed.worker import RolloutWorkerActor


class WorkerPool(ActorPool):
    """Rollout workers, each with an equal share of the environments.

    Args:
        source: The argument of `yieldrl.envs.make`.
        config: Says `num_envs`, `rollout_workers` and `ray_address`.
        trainer_class: Its `wrap_envs` wraps the environments.

    Attributes:
        envs: The spaces and the number of the environments.
        inference: The actors that they ask for actions; its `count` may be 0.

    Raises:
        ValueError: If the environments cannot be shared equally.
        WorkerError: If they cannot be made.
    """

    def __init__(self, source: Any, config: Config, trainer_class: Any) -> None:
        count = config.rollout_workers
        if config.num_envs % count:
            raise ValueError(
                f"num_envs = {config.num_envs} cannot be shared equally by"
                f" rollout_workers = {count}: choose a multiple of {count}"
            )
        share = config.num_envs // count
        worker = config.in_one_process(num_envs=share, device="cpu")
        self._recipe = EnvRecipe(source, worker, trainer_class)
        cluster = Cluster.of(config)
        try:
            self.stats = cluster.actor(StatsActor, None)
            self.inference = InferencePool(cluster, config, worker)
            parts = cluster, "rollout_workers", RolloutWorkerActor, count
            super().__init__(*parts, "a finished segment", self._arguments)
            observed, acted, recorded = self.ask_all("describe")[0]
        except BaseException:
            cluster.close()
            raise
        self.envs = RemoteEnvs(config.num_envs, observed, acted, recorded, pool=self)

    def envs_here(self) -> VectorEnv[Any, Any, Any]:
        """Environments like those of all workers together, in this process."""
        config = dataclasses.replace(self._recipe.config, num_envs=self.envs.num_envs)
        return dataclasses.replace(self._recipe, config=config).make_here()

    def begin_acting(
        self, agent: Any, seed: int, states: Any = None, acting: Any = None
    ) -> None:
        """Give every worker the agent and begin episodes, or go on from states.

        With inference actors, these have the agent, and continue from states `acting`.
        """
        recipe = self.cluster.put(pickled(Recipe.of_agent(agent)))
        if self.inference.count:
            own = acting or [None] * self.inference.count
            self.inference.begin([(recipe, state) for state in own], later=(recipe,))
            recipe = None
        states = states or [None] * self.count
        new_episodes = recipe, seed
        self.begin([(*new_episodes, state) for state in states], later=new_episodes)

    def did_work(self, index: int) -> None:
        """Note that a worker and its inference actor work: resets deaths in a row."""
        super().did_work(index)
        if self.inference.count:
            self.inference.did_work(index % self.inference.count)

    def _arguments(self, index: int, life: int) -> tuple[Any, ...]:
        recipe = dataclasses.replace(self._recipe, index=index, life=life)
        return pickled(recipe), self.count, self.stats


class RemoteEnvs(VectorEnv[Any, Any, Any]):
    """Spaces and numbers of the environments of a trainer's rollout workers.

    Args:
        num_envs: Number of environments of all workers together.
        observation_space: Space of one environment.
        action_space: Space of one environment.
        recorded_info: Entries of `info` that are stored in every transition.
        pool: The workers, which end when this is closed.
    """

    def __init__(
        self,
        num_envs: int,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        recorded_info: tuple[str, ...] = (),
        *,
        pool: Any,
    ) -> None:
        self.num_envs, self.recorded_info, self.pool = num_envs, recorded_info, pool
        self.single_observation_space = observation_space
        self.single_action_space = action_space
        self.observation_space = batch_space(observation_space, num_envs)
        self.action_space = batch_space(action_space, num_envs)

    def here(self) -> VectorEnv[Any, Any, Any]:
        """The same number of environments of this kind, in this process."""
        return self.pool.envs_here()

    def reset(self, **_: Any) -> NoReturn:
        """Refuse: see `step`."""
        self.step(None)

    def step(self, actions: Any) -> NoReturn:
        """Refuse.

        Raises:
            RuntimeError: Always.
        """
        raise RuntimeError(
            "these environments live in rollout workers on Ray, which step them:"
            " trainer.collector.collect(n) is a rollout, trainer.evaluate() plays in"
            " this process; or take collection='sync'"
        )

    def close_extras(self, **_: Any) -> None:
        """End the workers."""
        self.pool.cluster.close()


class InferencePool(ActorPool):
    """Inference actors; worker `i` of a run asks number `i % count`.

    Args:
        cluster: Has a place for each.
        config: Says how many there are, and how many rollout workers.
        worker: The config of one worker.
    """

    def __init__(self, cluster: Any, config: Config, worker: Config) -> None:
        self.config, self.worker = config, worker
        parts = cluster, "inference_actors", InferenceActor, config.inference_actors
        super().__init__(*parts, "a finished segment", self._arguments)

    def check(self, agent: Any) -> None:
        """Refuse an agent that would act differently than in a worker.

        Raises:
            ValueError: If it has a memory of its episodes; the actors are ended.
        """
        if self.count and agent.has_memory:
            self.cluster.close()
            raise self.config.error(
                "inference_actors",
                f"{type(agent).__module__}.{type(agent).__qualname__} remembers the"
                " episodes that it is in, and whom workers ask keeps no memory of"
                " theirs: choose 0, and each worker has a copy of the policy",
            )

    def actor_of(self, worker: int) -> Any:
        """The actor for a worker to ask; None if workers have the policy."""
        return self.actors[worker % self.count] if self.count else None

    def replace_dead(self, worker: int, asked: Any, error: BaseException) -> bool:
        """Whether a worker's error is the death of the actor that it `asked`, which is
        then replaced.

        Raises:
            WorkerError: If it died too often in a row.
        """
        if not isinstance(getattr(error.__cause__, "cause", None), DeadWorkerError):
            return False
        self.replace(worker % self.count, asked)
        return True

    def _arguments(self, index: int, life: int) -> tuple[Any, ...]:
        workers = len(range(index, self.config.rollout_workers, self.count))
        seed = self.worker.seed
        if index or life:  # the first has the seed of a run without actors
            seed = derive_seed(seed, f"inference actor {index}, {life}")
        device = "cuda" if self.config.device.startswith("cuda") else "cpu"
        rows = workers * self.worker.num_envs
        parts = {"num_envs": rows, "seed": seed, "device": device}
        return dataclasses.replace(self.worker, **parts), rows
