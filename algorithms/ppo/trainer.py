"""The schedule of PPO."""

from __future__ import annotations

from tensordict import TensorDict

from yieldrl import abstractions
from yieldrl.abstractions import LogData, Logs
from yieldrl.buffers import CircularBuffer, Passes, RolloutBuffer
from yieldrl.collectors import Collector, WholeCollector
from yieldrl.foundations.other_words import check_entries

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .model import Model


class Trainer(abstractions.Trainer):
    """Collect a rollout, pass over it a few times in minibatches, forget it, again.

    Training ends with the first whole rollout at or after `total_steps`.

    >>> trainer = Trainer(Config(total_steps=1024, eval_every=0))
    >>> for log in trainer():
    ...     pass
    >>> log["log_type"], log["sample_step"], log["learn_step"]
    ('train', 1024, 32)
    """

    config: Config
    agent: Agent
    buffer: RolloutBuffer

    parallel = True

    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    agent_class = Agent

    @property
    def learning_due(self) -> bool:
        return self.buffer.full and not self.buffer.exhausted

    @property
    def training_done(self) -> bool:
        return self.collecting_done and (len(self.buffer) == 0 or self.buffer.exhausted)

    def make_buffer(self) -> RolloutBuffer:
        config, envs = self.config, self.envs
        spaces = envs.single_observation_space, envs.single_action_space
        parts = {"num_envs": envs.num_envs, "device": self.agent.device}
        if config.collection == "sync":
            return RolloutBuffer(config.num_steps, *spaces, **parts)
        ahead = config.max_policy_lag + 2  # one is learned from, one is written
        return CircularBuffer(config.num_steps, *spaces, num_segments=ahead, **parts)

    def make_collector(self) -> Collector:
        agent, usual = self.agent, super().make_collector()
        if WholeCollector.fits(usual) and type(agent).explore is Agent.explore:
            return WholeCollector.like(usual)
        return usual

    def update(self, rollout: TensorDict) -> Logs:
        """Learn all there is to learn from a rollout `[T, N]`; means of metrics.

        It is annotated first, if it was not collected by `collector.collect`.
        """
        known = set(rollout.keys())
        check_entries(known)
        waits = "log_prob" not in known
        logs = self.algorithm.update(self.agent.annotated(rollout))
        if waits:
            self.agent.acted_version = None
        return logs

    def _run_collect(self) -> LogData:
        if self.buffer.exhausted:  # the step that should have cleared it failed
            self.buffer.clear()
        if len(self.buffer) == 0:  # also where somebody else has cleared it
            self.agent.acted_version = None
        return super()._run_collect()

    def _run_train(self) -> LogData:
        passes, logs = self.buffer.passes, {}
        if passes is None:
            passes, logs = self._begin()
        if not passes.exhausted:  # as it is at once where all steps only reset
            logs |= self.algorithm.learn_from(passes, self.agent.learn)
        if passes.exhausted:
            self.buffer.clear()
        return self._log("train", logs)

    def _begin(self) -> tuple[Passes, Logs]:
        """Advantages for the whole rollout, from which the minibatches are then cut."""
        rollout = self.agent.annotated(self.buffer.rollout())
        if self.buffer.begins_anew:
            self.algorithm.forget_episodes()
        passes, logs = self.algorithm.begin(rollout)
        self.buffer.begin(passes)
        self.algorithm.begin_update(rollout)
        return passes, logs
