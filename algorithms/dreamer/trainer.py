"""The schedule of Dreamer."""

from tensordict import TensorDict

from yieldrl.algorithms.off_policy import OffPolicyTrainer

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .model import Model


class Trainer(OffPolicyTrainer):
    """After steps into the replay buffer, learn from sequences of it."""

    config: Config
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    agent_class = Agent

    @property
    def learning_due(self) -> bool:
        """Whether steps call for it, and are as many in a row as a sequence takes."""
        if not super().learning_due:
            return False
        full = len(self.buffer) == self.buffer.capacity  # then drawing says why not
        return full or self.buffer.has_sequences(self.config.sequence_length)

    def _sample(self) -> TensorDict:
        """Sequences `[T, B]`, which go over ends of episodes."""
        size, length = self.config.batch_size, self.config.sequence_length
        return self.buffer.sequences(size, length, crossing=True)
