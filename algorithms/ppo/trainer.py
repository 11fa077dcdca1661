"""The schedule of PPO."""

from __future__ import annotations

from typing import ClassVar

from yieldrl import abstractions
from yieldrl.abstractions import LogData, Logs
from yieldrl.buffers import RolloutBuffer, explained_variance
from yieldrl.foundations import derive_seed

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

    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    agent_class = Agent
    buffer_class: ClassVar[type[RolloutBuffer]] = RolloutBuffer

    @property
    def learning_due(self) -> bool:
        return self.buffer.full and not self.buffer.exhausted

    @property
    def training_done(self) -> bool:
        return self.collecting_done and (len(self.buffer) == 0 or self.buffer.exhausted)

    def make_buffer(self) -> RolloutBuffer:
        return self.buffer_class(
            self.config.num_steps,
            self.envs.single_observation_space,
            self.envs.single_action_space,
            num_envs=self.envs.num_envs,
            num_epochs=self.config.num_epochs,
            num_minibatches=self.config.num_minibatches,
            device=self.agent.device,
            seed=derive_seed(self.config.seed, "buffer"),
        )

    def _run_collect(self) -> LogData:
        if self.buffer.exhausted:  # the step that should have cleared it failed
            self.buffer.clear()
        return self._log("collect", self.collector.step())

    def _run_train(self) -> LogData:
        logs = {} if self.buffer.prepared else self._prepare()
        if not self.buffer.exhausted:  # as one is at once in which steps only reset
            logs |= self.agent.learn(self.buffer.minibatch())
            self.buffer.advance()
            if self._moved_far(logs):
                self.buffer.stop()
        if self.buffer.exhausted:
            self.buffer.clear()
        return self._log("train", logs)

    def _prepare(self) -> Logs:
        """Advantages for the whole rollout, from which the minibatches are then cut."""
        rollout = self.buffer.rollout()
        if self.buffer.begins_anew:
            self.algorithm.forget_episodes()
        prepared = self.agent.prepare(rollout)
        self.buffer.prepare(prepared)
        self.agent.update_normalization(rollout)
        if not self.model.has_critic:
            return {}
        valid = prepared.get("valid", None)
        variance = explained_variance(prepared["value"], prepared["returns"], valid)
        return {"explained_variance": variance}

    def _moved_far(self, logs: Logs) -> bool:
        limit = self.config.target_kl
        return limit is not None and float(logs["approx_kl"]) > 1.5 * limit
