"""Shared parts of algorithms that learn from a replay buffer.

Fields of their configs, exploration by random actions, and the schedule.
"""

import math
from abc import abstractmethod
from collections.abc import Generator
from contextlib import closing
from typing import Annotated, Any

import torch
from gymnasium import Space
from gymnasium.spaces import Box
from pydantic import Field
from pydantic.dataclasses import dataclass
from tensordict import TensorDict
from torch import Tensor

from yieldrl import abstractions, core
from yieldrl.abstractions import LogData, Logs
from yieldrl.buffers import ReplayBuffer
from yieldrl.core import (
    BatchSize,
    Steps,
    StepsOrZero,
    UnitInterval,
    Widths,
    derive_seed,
    means,
    spaces,
)
from yieldrl.core.conversion import check_shapes
from yieldrl.core.learning_rates import anneal_before
from yieldrl.experiments import on_ray
from yieldrl.experiments.parts import transition_parts
from yieldrl.functional import linear, updates_due

MAX_ROWS = 128  # most rows of a segment, to limit memory


@dataclass(frozen=True, kw_only=True)
class OffPolicyConfig(core.Config):
    """Common fields of methods that learn from a replay buffer."""

    num_envs: int = 1
    """Number of environments stepped side by side. With more, `train_every` and
    `learning_starts` still count the steps of all of them together."""

    buffer_size: int = 1_000_000
    """Transitions that the replay buffer keeps; the oldest are overwritten. A smaller
    one takes less memory and forgets sooner."""

    learning_starts: StepsOrZero = 1_000
    """Environment steps before the first update. More fill the buffer with more varied
    transitions and delay learning."""

    train_every: Steps = 1
    """Environment steps between updates. A lower number learns more from every step and
    takes more time."""

    gradient_steps: Annotated[int, Field(ge=1, le=10**6)] = 1
    """Gradient steps of each update. More learn faster from the same experience, until
    the networks overfit to what is in the buffer."""

    batch_size: BatchSize = 256
    """Transitions drawn for each gradient step. Larger batches give gradients with less
    noise and take longer."""

    target_every: Steps = 1
    """Gradient steps between synchronisations of the target networks. More make targets
    steadier and learning slower."""

    tau: Annotated[float, Field(gt=0, le=1)] = 0.005
    """Share of the online networks that a synchronisation moves into the target
    networks. Lower is steadier and slower; 1 copies them."""

    gamma: UnitInterval = 0.99
    """Discount of future rewards, from 0 (only the next one counts) to 1 (all count
    alike). Rewards some 1 / (1 - gamma) steps ahead still matter."""

    hidden_sizes: Widths = (256, 256)
    """Widths of the hidden layers of every network. Wider or more layers can represent
    more and take longer to compute and to learn."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_range("buffer_size", low=self.num_envs, high=core.MAX_TRANSITIONS)

    def learn_steps_by(self, sample_step: int) -> int:
        """Gradient steps that should have been taken by an environment step."""
        return updates_due(
            sample_step, self.learning_starts, self.train_every, self.gradient_steps
        )


class BoxModel(abstractions.Model):
    """A model whose actions lie in [-1, 1], whatever the environment's bounds.

    The agent scales them to the bounds; the buffer stores them unscaled. The action
    space is a Box, bounded on every side; anything else is a TypeError.
    """

    unit_box = True

    def __init__(self, observation_space: Space[Any], action_space: Space[Any]) -> None:
        if not isinstance(action_space, Box):
            raise TypeError(
                f"the action space must be a Box, got {action_space}: take DQN,"
                " sac_discrete or PPO for actions that are choices"
            )
        super().__init__(observation_space, action_space)
        self.action_shape = action_space.shape
        self.action_size = math.prod(action_space.shape)


class EpsilonGreedy(abstractions.Agent):
    """An agent that acts at random with probability epsilon, otherwise greedily."""

    def epsilon(self) -> float:
        """Probability of a random action at this step."""
        config = self.algorithm.config
        steps = config.exploration_fraction * config.total_steps
        ends = config.epsilon_start, config.epsilon_end
        return linear(*ends, self.sample_step, steps)

    def exploration(self) -> Logs:
        return {"epsilon": self.epsilon()}


class RandomWarmUp(abstractions.Agent):
    """Random actions until `learning_starts`, and `noisy_action` from then on."""

    def explore(self, obs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """An action `[N, ...]` in [-1, 1]; the buffer keeps it with its noise."""
        if self.sample_step < self.algorithm.config.learning_starts:
            return self.random_action(obs), {}
        return self.noisy_action(obs), {}

    def random_action(self, obs: Any) -> Tensor:
        """Uniform within the bounds, `[N, ...]`."""
        model: Any = self.algorithm.model
        shape = spaces.batch_size(obs), *model.action_shape
        action = torch.empty(shape, dtype=torch.float32, device=self.device)
        return action.uniform_(-1, 1, generator=self.generator)

    @abstractmethod
    def noisy_action(self, obs: Any) -> Tensor:
        """An exploring action `[N, ...]` of the learned policy."""


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
