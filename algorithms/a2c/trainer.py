"""The schedule of A2C."""

from __future__ import annotations

from yieldrl.abstractions import LogData
from yieldrl.algorithms.ppo import Model
from yieldrl.on_policy import OnPolicyTrainer

from .agent import Agent
from .algorithm import Algorithm
from .config import Config


class Trainer(OnPolicyTrainer):
    """A few steps in every environment, one gradient step on all of them, again.

    >>> trainer = Trainer(Config(total_steps=1280, eval_every=0))
    >>> for log in trainer():
    ...     pass
    >>> log["log_type"], log["sample_step"], log["learn_step"]
    ('train', 1280, 10)
    """

    config: Config
    agent: Agent

    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    agent_class = Agent

    @property
    def learning_due(self) -> bool:
        return self.buffer.full and not self.buffer.exhausted

    def _run_train(self) -> LogData:
        whole, logs = self.buffer.passes, {}
        if whole is None:  # advantages first
            whole, logs = self.begin_learning()
        if not whole.exhausted:  # as it is at once where all steps only reset
            logs |= self.algorithm.learn_from(whole, self.agent.learn)
        self.buffer.clear()
        return self._log("train", logs)
