"""The trainer of algorithms with a replay buffer."""

from typing import Any, ClassVar

from tensordict import TensorDict

from yieldrl import abstractions
from yieldrl.abstractions import LogData, Logs
from yieldrl.buffers import ReplayBuffer
from yieldrl.foundations import derive_seed
from yieldrl.off_policy.config import OffPolicyConfig

MAX_ROWS = 128  # most rows of a segment, to limit memory


class OffPolicyTrainer(abstractions.Trainer):
    """Collects into a replay buffer, and learns from it as often as the config says."""

    config: OffPolicyConfig
    buffer: ReplayBuffer

    buffer_class: ClassVar[type[ReplayBuffer]] = ReplayBuffer

    @property
    def learning_due(self) -> bool:
        """Whether gradient steps are behind those that environment steps require."""
        now = self.agent.counters
        due = self.config.learn_steps_by(now.sample_step)
        return now.learn_step < due and len(self.buffer) > 0

    def rows_ahead(self, rows: int) -> int:
        config, count = self.config, self.envs.num_envs
        now = self.agent.sample_step + rows * count
        due, found = config.learn_steps_by(now), 1
        while found < MAX_ROWS and config.learn_steps_by(now + found * count) == due:
            found += 1
        return found

    def make_buffer(self) -> ReplayBuffer:
        config, seed = self.config, derive_seed(self.config.seed, "buffer")
        options = {"gamma": config.gamma, "seed": seed, **self.buffer_options()}
        parts = {**self.transition_parts, **options}
        if config.replay_actor:
            return self._in_actor(self.buffer_class, config.buffer_size, **parts)
        return self.buffer_class(config.buffer_size, **parts)

    def buffer_options(self) -> dict[str, Any]:
        """Further arguments of `buffer_class`, for variants that change it."""
        return {}

    def update(self, rollout: TensorDict) -> Logs:
        """Put a rollout into the replay buffer, and learn from that, at least once."""
        return self._replay_rows(rollout)

    def _run_train(self) -> LogData:
        self.agent.sync_target(self.config.target_every)  # if a step was interrupted
        logs = self._replay()
        self.agent.sync_target(self.config.target_every)
        return self._log("train", logs)

    def _replay(self) -> Logs:
        """One gradient step on a batch from the replay buffer."""
        return self.agent.learn(self.buffer.sample(self.config.batch_size))
