"""The trainer of algorithms with a replay buffer."""

from collections.abc import Generator
from contextlib import closing
from typing import Any

from tensordict import TensorDict

from yieldrl import abstractions
from yieldrl.abstractions import LogData, Logs
from yieldrl.buffers import ReplayBuffer
from yieldrl.core import derive_seed, means
from yieldrl.core.conversion import check_shapes
from yieldrl.core.learning_rates import anneal_before
from yieldrl.experiments import on_ray
from yieldrl.experiments.parts import transition_parts
from yieldrl.off_policy.config import OffPolicyConfig

MAX_ROWS = 128  # most rows of a segment, to limit memory


class OffPolicyTrainer(abstractions.Trainer):
    """Collects into a replay buffer, and learns from it as often as the config says."""

    config: OffPolicyConfig
    buffer: ReplayBuffer

    @property
    def learning_due(self) -> bool:
        """Whether gradient steps are behind those that environment steps require."""
        now = self.agent.counters
        due = self.config.learn_steps_by(now.sample_step)
        return now.learn_step < due and len(self.buffer) > 0

    def _rows_ahead(self, rows: int) -> int:
        config, count = self.config, self.envs.num_envs
        now = self.agent.sample_step + rows * count
        due, ahead = config.learn_steps_by(now), 1
        while ahead < MAX_ROWS and config.learn_steps_by(now + ahead * count) == due:
            ahead += 1
        return ahead

    def make_buffer(
        self, kind: type[ReplayBuffer] = ReplayBuffer, **options: Any
    ) -> ReplayBuffer:
        """The replay buffer; a variant has another kind, with options of its own."""
        config, seed = self.config, derive_seed(self.config.seed, "buffer")
        options |= {**transition_parts(self), "gamma": config.gamma, "seed": seed}
        if config.replay_actor:
            return on_ray.make_replay(self, kind, config.buffer_size, **options)
        return kind(config.buffer_size, **options)

    def update(self, rollout: TensorDict) -> Logs:
        """Put a rollout into the replay buffer, and learn from that, at least once.

        Row by row, as if each had just been collected: the gradient steps due by the
        config follow. All actions are of the policy before the update.
        """
        logs: list[Logs] = []
        self.buffer.end_episodes()  # this rollout may not continue them
        with closing(rows_of(self, rollout)) as rows:
            for row in rows:
                self.buffer.add(row.to_dict())
                while self.learning_due:
                    logs.append(self._run_train()["logs"])
        return means(logs or [self._run_train()["logs"]])

    def _run_train(self) -> LogData:
        logs = self.agent.learn(self._sample())
        now, every = self.agent.counters, self.config.target_every
        if now.learn_step // every > now.sync_step // every:
            self.algorithm.sync_target()
            now.sync_step = now.learn_step
        return self._log("train", logs)

    def _sample(self) -> TensorDict:
        """The batch of the next gradient step, `[B]`."""
        return self.buffer.sample(self.config.batch_size)


def rows_of(trainer: Any, rollout: TensorDict) -> Generator[TensorDict]:
    """The rows `[N]` of a rollout, with `sample_step` as it was for each."""
    check_shapes(rollout)
    anneal_before(trainer.algorithm, rollout)
    now = trainer.agent.counters
    end, steps = now.sample_step, trainer.envs.num_envs
    try:
        for t, row in enumerate(rollout.unbind(0), 1):
            now.sample_step = end - (len(rollout) - t) * steps
            yield row
    finally:
        now.sample_step = end
