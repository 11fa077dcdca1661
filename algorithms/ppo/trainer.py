"""The schedule of PPO."""

from __future__ import annotations

from collections.abc import Generator
from typing import ClassVar

from yieldrl import abstractions
from yieldrl.abstractions import LogData, Logs
from yieldrl.buffers import RolloutBuffer

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

    def __call__(self) -> Generator[LogData, None, None]:
        # What comes next is read off the counters and the buffer, never off this
        # frame: break out of the loop anywhere, and a new loop goes on from there.
        while not self.training_done or self.evaluation_due:
            if self.buffer.full:
                yield self._run_train()
            elif self.evaluation_due:
                yield self._run_evaluate()
            else:
                yield self._run_collect()

    @property
    def training_done(self) -> bool:
        return self.collecting_done and len(self.buffer) == 0

    def make_buffer(self) -> RolloutBuffer:
        return self.buffer_class(
            self.config.num_steps,
            self.envs.single_observation_space,
            self.envs.single_action_space,
            num_envs=self.envs.num_envs,
            num_epochs=self.config.num_epochs,
            num_minibatches=self.config.num_minibatches,
            device=self.agent.device,
            seed=self.config.seed,
        )

    def _run_collect(self) -> LogData:
        return self._log("collect", self.collector.step())

    def _run_train(self) -> LogData:
        if not self.buffer.prepared:
            self.buffer.prepare(self.agent.prepare(self.buffer.rollout()))
        logs = self.agent.learn(self.buffer.minibatch())
        self.buffer.advance()
        if self.buffer.exhausted or self._moved_far(logs):
            self.buffer.clear()
        return self._log("train", logs)

    def _moved_far(self, logs: Logs) -> bool:
        limit = self.config.target_kl
        return limit is not None and float(logs["approx_kl"]) > 1.5 * limit
