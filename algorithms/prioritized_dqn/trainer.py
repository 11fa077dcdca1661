"""The schedule of prioritized replay: sample, learn, write the priorities back."""

from typing import Any

from yieldrl.abstractions import Logs
from yieldrl.algorithms import dqn
from yieldrl.buffers import PrioritizedReplayBuffer
from yieldrl.functional import linear

from .algorithm import Algorithm
from .config import Config


class Trainer(dqn.Trainer):
    """DQN that replays transitions the more often, the larger their error was."""

    config: Config
    buffer: PrioritizedReplayBuffer
    config_class = Config
    algorithm_class = Algorithm
    buffer_class = PrioritizedReplayBuffer

    def beta(self) -> float:
        """The current exponent of importance weights: from `priority_beta` to 1."""
        config = self.config
        return linear(
            config.priority_beta, 1.0, self.agent.sample_step, config.total_steps
        )

    def buffer_options(self) -> dict[str, Any]:
        return {
            **super().buffer_options(),
            "alpha": self.config.priority_alpha,
            "epsilon": self.config.priority_epsilon,
        }

    def _replay(self) -> Logs:
        beta = self.beta()
        data = self.buffer.sample(self.config.batch_size, beta)
        logs = self.agent.learn(data)
        self.buffer.update_priorities(data["index"], data["priority"])
        return {**logs, "beta": beta}
