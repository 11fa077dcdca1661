"""The schedule of REINFORCE."""

from yieldrl import abstractions
from yieldrl.abstractions import LogData
from yieldrl.buffers import EpisodeBuffer

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .model import Model


class Trainer(abstractions.Trainer):
    """Play whole episodes, take one gradient step, forget them, again.

    Training ends at `total_steps`; episodes that are not whole by then teach nothing.
    """

    config: Config
    agent: Agent
    buffer: EpisodeBuffer
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    agent_class = Agent

    @property
    def learning_due(self) -> bool:
        return self.buffer.full

    def make_buffer(self) -> EpisodeBuffer:
        return EpisodeBuffer(self.config.num_episodes, **self.transition_parts)

    def _run_collect(self) -> LogData:
        again = len(self.buffer) == 0 and self.agent.learn_step > 0
        if again and self.envs.num_envs > 1:
            self.collector.reset(None)  # episodes that finished early began others
        return super()._run_collect()

    def _run_train(self) -> LogData:
        logs = self.agent.learn(self.agent.prepare(self.buffer.episodes()))
        self.buffer.clear()
        return self._log("train", logs)
