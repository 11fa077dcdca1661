"""The schedule of DAPO: collect until enough groups differ, then learn as GRPO does."""

from collections.abc import Mapping
from typing import Any

from yieldrl.abstractions import Logs
from yieldrl.algorithms import grpo
from yieldrl.buffers import Minibatches
from yieldrl.foundations import mean_of_all
from yieldrl.on_policy import joined

from .algorithm import Algorithm
from .config import Config


class Trainer(grpo.Trainer):
    """GRPO's, with another clip, another mean, and dynamic sampling.

    Groups of equal returns do not count towards a batch (section 3.2). `update` of a
    rollout learns from that one alone.

    Attributes:
        kept: Of the rollouts since the latest gradient step, what is to be learned.
    """

    config: Config
    config_class = Config
    algorithm_class = Algorithm

    def __init__(self, config: Any = None, **parts: Any) -> None:
        super().__init__(config, **parts)
        self.kept: list[Minibatches] = []

    def begin_learning(self) -> tuple[Minibatches, Logs]:
        """The minibatches of all rollouts that are kept, if they are enough; or none,
        so that another rollout is collected by the same policy."""
        latest, logs = super().begin_learning()
        kept, config = [*self.kept, latest], self.config
        pieces = joined([one.pieces for one in kept])
        found = mean_of_all(pieces["used"].any(1).sum().view(1))
        enough = float(found) >= (config.batch_episodes or config.num_envs)
        learns = enough or len(kept) >= config.max_rollouts or self.collecting_done
        chosen = pieces if learns else pieces[:0]
        minibatches = self.algorithm.passes(chosen, latest.seed)
        self.kept = [] if learns else kept
        self.buffer.begin(minibatches)
        return minibatches, logs

    def state_dict(self) -> dict[str, Any]:
        """The whole trainer, and what was kept of earlier rollouts."""
        return {**super().state_dict(), "kept": [x.state_dict() for x in self.kept]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        device = self.agent.device
        self.kept = [Minibatches.from_state(x, device) for x in state["kept"]]
