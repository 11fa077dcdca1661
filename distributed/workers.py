"""Rollout workers: they step environments in processes, on this machine or another."""

import dataclasses
import pickle
import time
from typing import Any, NoReturn

import gymnasium as gym
import torch
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space

from yieldrl.collectors.segments import Segment, SegmentWriter, VersionedAgent
from yieldrl.collectors.sync import SyncCollector
from yieldrl.core import Config, derive_seed
from yieldrl.core.conversion import copied_array
from yieldrl.distributed.actors import ActorPool
from yieldrl.distributed.cluster import Cluster
from yieldrl.distributed.inference import InferencePool, RemoteAgent
from yieldrl.distributed.recipes import EnvRecipe, Recipe, pickled
from yieldrl.distributed.stats import OutcomeStepper, StatsActor
from yieldrl.distributed.weights import StoredVersion


class RolloutWorkerActor:
    """Steps its share of the environments with its own copy of the policy.

    Args:
        recipe: An `EnvRecipe` for its environments, pickled.
        count: Number of workers.
        stats: The `StatsActor`, if there is one.
        begin: Arguments of `begin`, if it is to begin at once.
    """

    def __init__(self, recipe: bytes, count: int, stats: Any, *begin: Any) -> None:
        torch.set_num_threads(1)  # workers share the cores
        self.recipe, self.count = pickle.loads(recipe), count
        self.envs = self.recipe.make()
        self._stats = stats
        self._writer = SegmentWriter(copied_array)
        self._collector: SyncCollector | None = None
        if begin:
            self.begin(*begin)

    def describe(self) -> tuple[Any, ...]:
        """Spaces and recorded info of its environments."""
        envs = self.envs
        recorded = tuple(getattr(envs, "recorded_info", ()))
        return envs.single_observation_space, envs.single_action_space, recorded

    def begin(self, recipe: bytes | None, seed: int, state: Any = None) -> None:
        """Make an agent, and begin episodes; or go on from a state.

        Args:
            recipe: The agent's `Recipe`, pickled; without one the worker asks an
                inference actor.
            seed: Seed of the first environment of the first worker.
            state: An earlier result of `state_dict`.
        """
        made_of = self.recipe
        config = dataclasses.replace(made_of.config, seed=made_of.seed)
        count = self.envs.num_envs
        agent: Any = RemoteAgent(count)
        if recipe is not None:
            agent = pickle.loads(recipe).make(config)
        self._actor = VersionedAgent(agent, count)
        # Schedules go by the steps of all workers, not only of this one.
        self._actor.count_steps = lambda steps: agent.count_steps(steps * self.count)
        self._loaded: int | None = None  # version of the weights
        seed += made_of.index * count
        if made_of.life:
            seed = derive_seed(seed, f"life {made_of.life}")
        options = {"seed": seed, "report_every": config.report_every}
        parts = self.envs, self._actor, self._writer
        self._collector = SyncCollector(*parts, **options)
        self._collector.stepper = self._stepper = OutcomeStepper(self.envs)
        if state is not None:
            self._actor.agent.load_state_dict(state["actor"])
            self._collector.load_state_dict(state["collector"])

    def collect(
        self,
        num_rows: int,
        sample_step: int,
        weights: StoredVersion,
        inference: Any = None,
    ) -> Segment:
        """Take `num_rows` steps of all its environments.

        Args:
            num_rows: Number of steps.
            sample_step: Steps of all environments of all workers before.
            weights: The weights to act with.
            inference: The actor to ask for actions, if it has the policy.

        Raises:
            SignatureError: If the weights do not fit this model.
        """
        assert self._collector is not None, "begin() comes first"
        self._act_with(weights, inference)
        self._actor.agent.counters.sample_step = sample_step
        self._writer.clear()  # some may be left from before an error
        began = time.monotonic()
        logs = [self._collector.step() for _ in range(num_rows)]
        rows, breaks = self._writer.stacked(), self._writer.breaks
        if self._stats is not None:
            steps = num_rows * self.envs.num_envs
            ends = [g for g in logs if g], self._stepper.take()
            self._stats.add.remote(self.recipe.index, steps, *ends)
        version, metrics = self._actor.version, {}
        if inference is not None:
            version, metrics = self._actor.agent.report()
        seconds = time.monotonic() - began
        return Segment(rows, logs, breaks, version, seconds, metrics)

    def _act_with(self, weights: StoredVersion, inference: Any) -> None:
        """Fetch weights, if they are new; or ask an actor that has them."""
        if inference is not None:
            self._actor.agent.ask(inference, weights)
        elif weights.version != self._loaded:
            weights.fetch().load(self._actor.agent.model)
            self._actor.set_version(weights.version)
            self._loaded = weights.version

    def report(self) -> dict[str, Any]:
        """Logs of episodes that ended and that no step has reported yet."""
        return {} if self._collector is None else self._collector.report()

    def reset(self) -> None:
        """Begin new episodes everywhere."""
        if self._collector is not None and self._collector.obs is not None:
            self._collector.reset(None)

    def state_dict(self) -> dict[str, Any]:
        """The state of environments and agent, between two segments."""
        assert self._collector is not None
        actor = self._actor.agent.state_dict()
        del actor["algorithm"]  # it gets the learner's weights
        return {"actor": actor, "collector": self._collector.state_dict()}


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
        self._made_here: list[VectorEnv[Any, Any, Any]] = []  # to be closed with these

    def here(self) -> VectorEnv[Any, Any, Any]:
        """The same number of environments of this kind, in this process.

        `close` closes them too.
        """
        envs = self.pool.envs_here()
        self._made_here.append(envs)
        return envs

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
        """End the workers, and close environments that were made in this process."""
        for envs in self._made_here:
            envs.close()
        self.pool.cluster.close()
