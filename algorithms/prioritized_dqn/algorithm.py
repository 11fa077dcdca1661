"""The mathematics of prioritized replay: weights that undo its bias, and priorities."""

from typing import Any

from pydantic.dataclasses import dataclass
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import LogData, Logs
from yieldrl.algorithms import dqn
from yieldrl.buffers import PrioritizedReplayBuffer
from yieldrl.core import Coefficient, UnitInterval
from yieldrl.functional import linear


@dataclass(frozen=True, kw_only=True)
class Config(dqn.Config):
    """DQN with prioritized replay; priorities as in the paper, the rest as in DQN."""

    priority_alpha: Coefficient = 0.6
    """Exponent of the priorities: at 0 transitions are drawn uniformly, at 1 in
    proportion to their TD error. Higher draws those with large errors more often."""

    priority_beta: UnitInterval = 0.4
    """How much importance weights correct the bias of the sampling at the start: 0 not
    at all, 1 fully. It rises linearly to 1 at `total_steps`."""


class Algorithm(dqn.Algorithm):
    """DQN that learns from weighted transitions and says how wrong it was on each.

    Schaul et al. 2016, "Prioritized Experience Replay", arXiv:1511.05952, algorithm 1.
    `learn` writes `priority [B]`, which belongs into the buffer, into its batch.

    Differs from the paper: it is DQN as in `dqn.Algorithm`, without Double DQN's target
    and without clipped errors, with DQN's own learning rate (the paper divides it by
    four).
    """

    def element_loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """The loss of every transition, `[B]`, and metrics; `data` gets `priority`."""
        element_loss, elements = super().element_loss(data)
        data["priority"] = self.priority(element_loss, elements).detach()
        return element_loss, elements

    def weigh(self, element_loss: Tensor, data: TensorDict) -> Tensor:
        """The mean of `w_i L_i`, with the importance weights of the sample."""
        return super().weigh(data["weight"] * element_loss, data)

    def priority(self, element_loss: Tensor, elements: Logs) -> Tensor:
        """The priority of each transition, `[B]`: `|td_error|`."""
        return elements["td_error"]


class Trainer(dqn.Trainer):
    """DQN that replays transitions the more often, the larger their error was."""

    config: Config
    buffer: PrioritizedReplayBuffer
    config_class = Config
    algorithm_class = Algorithm

    def beta(self) -> float:
        """The current exponent of importance weights: from `priority_beta` to 1."""
        first, steps = self.config.priority_beta, self.config.total_steps
        return linear(first, 1.0, self.agent.sample_step, steps)

    def make_buffer(self, kind: Any = PrioritizedReplayBuffer, **options: Any) -> Any:
        return super().make_buffer(kind, alpha=self.config.priority_alpha, **options)

    def _sample(self) -> TensorDict:
        self._batch = self.buffer.sample(self.config.batch_size, self.beta())
        return self._batch

    def _run_train(self) -> LogData:
        beta, log = self.beta(), super()._run_train()
        batch = self._batch
        self.buffer.update_priorities(batch["index"], batch["priority"])
        log["logs"]["beta"] = beta
        return log
