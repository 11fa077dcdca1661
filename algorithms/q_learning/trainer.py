"""The schedule of Q-learning."""

from contextlib import closing

from tensordict import TensorDict

from yieldrl import abstractions
from yieldrl.abstractions import LogData, Logs
from yieldrl.algorithms.off_policy import rows_of
from yieldrl.buffers import StepBuffer
from yieldrl.core import means
from yieldrl.experiments.parts import transition_parts

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .model import Model


class Trainer(abstractions.Trainer):
    """Take a step, learn from it, forget it."""

    config: Config
    buffer: StepBuffer
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    agent_class = Agent

    @property
    def learning_due(self) -> bool:
        return self.buffer.full

    def make_buffer(self) -> StepBuffer:
        return StepBuffer(**transition_parts(self))

    def update(self, rollout: TensorDict) -> Logs:
        """Learn from one row of a rollout after the other, as the loop does."""
        with closing(rows_of(self, rollout)) as rows:
            return means([self.agent.learn(row) for row in rows])

    def _run_train(self) -> LogData:
        logs = self.agent.learn(self.buffer.transitions())
        self.buffer.clear()
        return self._log("train", logs)
