"""The schedule of DDPG."""

from __future__ import annotations

from tensordict import TensorDict

from yieldrl import abstractions
from yieldrl.abstractions import LogData, Logs
from yieldrl.buffers import ReplayBuffer
from yieldrl.foundations import derive_seed

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

    @property
    def learning_due(self) -> bool:
        """Whether fewer gradient steps were taken than the steps so far call for."""
        now = self.agent.counters
        due = self.config.learn_steps_by(now.sample_step)
        return now.learn_step < due and len(self.buffer) > 0

    def make_buffer(self) -> ReplayBuffer:
        return ReplayBuffer(
            self.config.buffer_size,
            self.envs.single_observation_space,
            self.envs.single_action_space,
            num_envs=self.envs.num_envs,
            gamma=self.config.gamma,
            device=self.agent.device,
            seed=derive_seed(self.config.seed, "buffer"),
        )

    def update(self, rollout: TensorDict) -> Logs:
        """Put a rollout into the replay buffer, and learn from that as the loop does.

        At least once, also before `learning_starts`.
        """
        return self._replay_rows(rollout)

    def _run_train(self) -> LogData:
        self.agent.sync_target(self.config.target_every)  # if a step was interrupted
        logs = self.agent.learn(self.buffer.sample(self.config.batch_size))
        self.agent.sync_target(self.config.target_every)
        return self._log("train", logs)
