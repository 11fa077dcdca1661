"""Rollout workers: they step environments in processes, on this machine or another."""

import copy
import pickle
from dataclasses import replace
from typing import Any, NoReturn

import gymnasium as gym
import torch
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space

from yieldrl.collectors.segments import Segment, SegmentWriter
from yieldrl.collectors.sync import SyncCollector
from yieldrl.core import Config, derive_seed
from yieldrl.core.conversion import copied_array
from yieldrl.distributed.actors import ActorPool
from yieldrl.distributed.cluster import Cluster
from yieldrl.distributed.inference import InferencePool, RemoteAgent
from yieldrl.distributed.recipes import EnvRecipe, pickled
from yieldrl.distributed.references import put_aside
from yieldrl.distributed.stats import OutcomeStepper, StatsActor
from yieldrl.distributed.weights import AgentCopy, Stored


class RolloutWorkerActor:
    """Steps its share of the environments with its own copy of the policy.

    Args:
        recipe: An `EnvRecipe` for its environments, pickled.
        count: Number of workers.
        index: Its number.
        life: How many workers of this number there were before.
    """

    def __init__(self, recipe: bytes, count: int, index: int, life: int) -> None:
        torch.set_num_threads(1)  # workers share the cores
        self.recipe = replace(pickle.loads(recipe), index=index, life=life)
        self.count = count
        self.envs = self.recipe.make()
        self._copy = AgentCopy(seed=self.recipe.seed)
        self._asking = RemoteAgent()
        self._writer = SegmentWriter(copied_array)
        self._collector: SyncCollector | None = None
        self._run: Any = None  # the recipe of the agent that it acts with

    def describe(self) -> tuple[Any, ...]:
        """Spaces and recorded info of its environments."""
        envs = self.envs
        recorded = tuple(getattr(envs, "recorded_info", ()))
        return envs.single_observation_space, envs.single_action_space, recorded

    def collect(
        self,
        num_rows: int,
        sample_step: int,
        sent: Stored,
        reset: bool = False,
        stats: Any = None,
        unread: tuple[str, ...] = (),
        pieces: int = 0,
    ) -> Segment:
        """Take `num_rows` steps of all its environments.

        Args:
            num_rows: Number of steps.
            sample_step: Steps of all environments of all workers before.
            sent: The agent to act with, or to ask; new episodes begin with a new one.
            reset: Whether to begin new episodes.
            stats: The `StatsActor` to report to.
            unread: Names of entries to leave out.
            pieces: Number of pieces in which to put observations aside, into the
                object store; with 0 they are in the segment.

        Raises:
            SignatureError: If the weights do not fit this model.
        """
        self._writer.clear()  # some may be left from before an error
        self._writer.unread = unread
        self._act_with(sent)
        assert self._collector is not None
        if reset:
            self.reset()
        if reset or (self.recipe.life and self._collector.obs is None):
            self._writer.end_episodes()  # none goes on with those of one that died
        count = self.envs.num_envs
        for row in range(num_rows):
            # Schedules go by the steps of all workers, not only of this one.
            now = sample_step + row * count * self.count
            self._agent.counters.sample_step = now
            self._writer.logs[-1] = self._collector.step()
        if stats is not None:
            ends = [g for g in self._writer.logs if g], self._stepper.take()
            stats.add.remote(self.recipe.index, num_rows * count, *ends)
        version, metrics = sent.version, {}
        if sent.actor is not None:
            version, metrics = self._agent.report()
        segment = self._writer.segment(version, **metrics)
        if pieces:
            segment.aside = put_aside(segment.rows, pieces)
        return segment

    def report(self) -> dict[str, Any]:
        """Logs of episodes that ended and that no step has reported yet."""
        return {} if self._collector is None else self._collector.report()

    def reset(self) -> None:
        """Begin new episodes everywhere."""
        if self._collector is not None and self._collector.obs is not None:
            self._collector.reset(None)

    def state_dict(self, sent: Stored) -> dict[str, Any]:
        """The state of environments and agent, between two segments."""
        self._act_with(sent)
        assert self._collector is not None
        actor = self._agent.state_dict()
        del actor["algorithm"]  # it gets the learner's weights
        return {"actor": actor, "collector": self._collector.state_dict()}

    def load_state_dict(self, sent: Stored, state: Any) -> None:
        """Go on from what `state_dict` returned."""
        self._act_with(sent)
        assert self._collector is not None
        self._agent.load_state_dict(state["actor"])
        self._collector.load_state_dict(state["collector"])

    def _act_with(self, sent: Stored) -> None:
        """Take over what was sent; or ask an actor that does so."""
        asked = sent.actor is not None
        self._agent = self._asking if asked else self._copy.fetch(sent)
        if asked:
            self._asking.ask(sent)
        if sent.recipe != self._run:
            self._run = sent.recipe
            self._begin(sent.seed)

    def _begin(self, seed: int) -> None:
        """Begin the first episodes of a run with the next step."""
        made_of = self.recipe
        seed += made_of.index * self.envs.num_envs
        if made_of.life:
            seed = derive_seed(seed, f"life {made_of.life}")
        options = {"seed": seed, "report_every": made_of.config.report_every}
        parts = self.envs, self._agent, self._writer
        self._collector = SyncCollector(*parts, **options)
        self._collector.stepper = self._stepper = OutcomeStepper(self.envs)


class WorkerPool(ActorPool):
    """Rollout workers, each with an equal share of the environments.

    Args:
        source: The argument of `yieldrl.envs.make`.
        config: Says `num_envs`, `rollout_workers` and `ray_address`.
        trainer_class: Its `wrap_envs` wraps the environments.

    Attributes:
        envs: The spaces and the number of the environments.
        config: The config of one worker.
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
        self.config = config.in_one_process(num_envs=share, device="cpu")
        self._recipe = EnvRecipe(source, self.config, trainer_class)
        recipe = pickled(self._recipe)  # once: it takes a while
        cluster = Cluster.of(config)
        try:
            self.stats = ActorPool(cluster, "stats_actors", StatsActor, 1, "an answer")
            self.inference = InferencePool(cluster, config, self.config)
            parts = cluster, "rollout_workers", RolloutWorkerActor, count
            made_of = lambda *number: (recipe, count, *number)  # noqa: E731
            super().__init__(*parts, "a finished segment", made_of)
            # Copied, because arrays that come from Ray, such as bounds, are read-only.
            described = copy.deepcopy(self.ask_all("describe")[0])
        except BaseException:
            cluster.close()
            raise
        self.envs = RemoteEnvs(config.num_envs, *described, pool=self)

    def envs_here(self) -> VectorEnv[Any, Any, Any]:
        """Environments like those of all workers together, in this process."""
        config = replace(self.config, num_envs=self.envs.num_envs)
        return replace(self._recipe, config=config).make_here()

    def did_work(self, index: int) -> None:
        """Note that a worker and its inference actor work: resets deaths in a row."""
        super().did_work(index)
        if self.inference.count:
            self.inference.did_work(index % self.inference.count)


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
