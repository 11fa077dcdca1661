"""The schedule of DDPG."""

from __future__ import annotations

from collections.abc import Generator

from yieldrl import abstractions
from yieldrl.abstractions import LogData
from yieldrl.buffers import ReplayBuffer
from yieldrl.foundations import updates_due

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .model import Model


class Trainer(abstractions.Trainer):
    """Step the environments into the replay buffer; after each step learn from it.

    >>> trainer = Trainer(Config(total_steps=1010, eval_every=0))
    >>> for log in trainer():
    ...     pass
    >>> log["log_type"], log["sample_step"], log["learn_step"]
    ('train', 1010, 11)
    """

    config: Config
    agent: Agent
    buffer: ReplayBuffer

    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    agent_class = Agent

    def __call__(self) -> Generator[LogData, None, None]:
        # What comes next is read off the counters, never off this frame: break out of
        # the loop anywhere, and a new loop goes on from there.
        while not self.training_done or self.evaluation_due:
            if self.learning_due:
                yield self._run_train()
            elif self.evaluation_due:
                yield self._run_evaluate()
            else:
                yield self._run_collect()

    @property
    def learning_due(self) -> bool:
        """Whether fewer gradient steps were taken than the steps so far call for."""
        config = self.config
        due = updates_due(
            self.agent.sample_step,
            config.learning_starts,
            config.train_every,
            config.gradient_steps,
        )
        return self.agent.learn_step < due and len(self.buffer) > 0

    @property
    def training_done(self) -> bool:
        return self.collecting_done and not self.learning_due

    def make_buffer(self) -> ReplayBuffer:
        return ReplayBuffer(
            self.config.buffer_size,
            self.envs.single_observation_space,
            self.envs.single_action_space,
            num_envs=self.envs.num_envs,
            gamma=self.config.gamma,
            device=self.agent.device,
            seed=self.config.seed,
        )

    def _run_collect(self) -> LogData:
        return self._log("collect", self.collector.step())

    def _run_train(self) -> LogData:
        logs = self.agent.learn(self.buffer.sample(self.config.batch_size))
        if self.agent.learn_step % self.config.target_every == 0:
            self.agent.algorithm.sync_target()
        return self._log("train", logs)
