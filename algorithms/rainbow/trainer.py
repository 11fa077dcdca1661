"""The schedule of Rainbow: that of prioritized replay, n steps at a time."""

from yieldrl.algorithms import n_step_dqn, prioritized_dqn
from yieldrl.buffers import PrioritizedNStepReplayBuffer

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .model import Model


class Trainer(prioritized_dqn.Trainer, n_step_dqn.Trainer):
    """Prioritized replay's schedule around all the rest."""

    config: Config
    agent: Agent
    buffer: PrioritizedNStepReplayBuffer
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    agent_class = Agent
    buffer_class = PrioritizedNStepReplayBuffer
