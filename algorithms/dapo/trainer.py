"""The schedule of DAPO: collect until enough groups differ, then learn as GRPO does."""

from collections.abc import Mapping
from typing import Any

from tensordict import TensorDict

from yieldrl.abstractions import Logs
from yieldrl.algorithms import grpo
from yieldrl.foundations import mean_of_all

from .algorithm import Algorithm
from .config import Config


class Trainer(grpo.Trainer):
    """GRPO's, with another clip, another mean, and dynamic sampling.

    Groups of equal returns do not count towards a batch (section 3.2). `update` of a
    rollout learns from that one alone.

    Attributes:
        kept: The rollouts `[T, N]` since the latest gradient step.
    """

    config: Config
    config_class = Config
    algorithm_class = Algorithm

    def __init__(self, config: Any = None, **parts: Any) -> None:
        super().__init__(config, **parts)
        self.kept: list[TensorDict] = []

    def rollout_due(self) -> tuple[TensorDict | None, Logs]:
        """All rollouts that are kept side by side, `[T, K * N]`, if they are enough."""
        latest, _ = super().rollout_due()
        assert latest is not None
        kept, config = [*self.kept, latest], self.config
        algorithm: Any = self.algorithm
        rollout = TensorDict.cat(kept, 1)
        _, used = algorithm.compared(rollout)
        found = float(mean_of_all(used.sum().view(1)))
        enough = found >= (config.batch_episodes or config.num_envs)
        if enough or len(kept) >= config.max_rollouts or self.collecting_done:
            self.kept = []
            return rollout, {}
        self.kept = [*self.kept, latest.clone()]
        return None, algorithm.rollout_logs(rollout, rollout)

    def state_dict(self) -> dict[str, Any]:
        """The whole trainer, and what was kept of earlier rollouts."""
        return {**super().state_dict(), "kept": [x.to_dict() for x in self.kept]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        size = self.config.num_steps, self.config.num_envs
        device = self.agent.device
        self.kept = [TensorDict(x, size).to(device) for x in state["kept"]]
