"""The schedule of REINFORCE."""

import torch
from tensordict import TensorDict

from yieldrl import abstractions
from yieldrl.abstractions import LogData, Logs
from yieldrl.buffers import EpisodeBuffer
from yieldrl.core.conversion import check_shapes
from yieldrl.experiments.parts import transition_parts

from .agent import Agent
from .algorithm import Algorithm
from .config import Config
from .model import Model


class Trainer(abstractions.Trainer):
    """Play whole episodes, take one gradient step, forget them, again.

    Training ends at `total_steps`; episodes that are not whole by then teach nothing.
    """

    config: Config
    buffer: EpisodeBuffer
    config_class = Config
    model_class = Model
    algorithm_class = Algorithm
    agent_class = Agent

    @property
    def learning_due(self) -> bool:
        return self.buffer.full

    def make_buffer(self) -> EpisodeBuffer:
        return EpisodeBuffer(self.config.num_episodes, **transition_parts(self))

    def update(self, rollout: TensorDict) -> Logs:
        """One gradient step on all steps `[T, N]` whose episode ends in the rollout.

        ValueError if no episode does: then there is no return to learn from.
        """
        check_shapes(rollout)
        ends = rollout["terminated"] | rollout["truncated"]
        whole = ends.flip(0).cumsum(0).flip(0) > 0
        valid = rollout.get("valid", torch.ones_like(whole))
        if not bool((valid & whole).any()):
            raise ValueError(
                f"no episode ends within the {len(rollout)} steps of the rollout, and"
                " only whole ones have a return: collect more steps, best with"
                " reset=True"
            )
        episodes = rollout.copy().set("valid", valid & whole).to(self.agent.device)
        return self.agent.learn(self.algorithm.prepare(episodes))

    def _run_collect(self) -> LogData:
        again = len(self.buffer) == 0 and self.agent.learn_step > 0
        if again and self.envs.num_envs > 1:
            self.collector.reset(None)  # episodes that finished early began others
        return super()._run_collect()

    def _run_train(self) -> LogData:
        logs = self.agent.learn(self.algorithm.prepare(self.buffer.episodes()))
        self.buffer.clear()
        return self._log("train", logs)
