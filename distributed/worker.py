"""Rollout workers: they step environments in a process, on this machine or another."""

import dataclasses
import pickle
import time
from typing import Any

import torch

from yieldrl.collectors.segments import Segment, SegmentWriter, VersionedAgent
from yieldrl.collectors.sync import SyncCollector
from yieldrl.core import derive_seed
from yieldrl.core.conversion import copied_array
from yieldrl.distributed.inference import RemoteAgent
from yieldrl.distributed.stats import OutcomeStepper
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
