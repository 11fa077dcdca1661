"""The mathematics of DAPO.

Yu et al. 2025, "DAPO: An Open-Source LLM Reinforcement Learning System at Scale",
arXiv:2503.14476, sections 3.1 and 3.3; 3.2 is the trainer's.
"""

from collections.abc import Mapping
from typing import Any

from pydantic.dataclasses import dataclass
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import grpo
from yieldrl.algorithms.rollouts import evaluate_rollout
from yieldrl.core import Count, Positive, mean_of_all
from yieldrl.experiments import on_ray


@dataclass(frozen=True, kw_only=True)
class Config(grpo.Config):
    """GRPO with two clips and dynamic sampling; the defaults write sums, as GRPO's."""

    clip_high: Positive = 0.28
    """How far the probability ratio may rise above 1, where `clip_coef` says how far it
    may fall below. Higher lets unlikely actions become likely sooner."""

    batch_episodes: Count | None = None
    """Episodes of groups whose returns differ that there must be before learning
    begins: until then rollouts are collected by one policy. By default as many as
    environments. More give updates with less noise, and fewer of them."""

    max_rollouts: Count = 8
    """Rollouts after which learning begins with what there is. 1 is one rollout for
    each update, as GRPO has it; more wait longer where few groups differ."""


class Algorithm(grpo.Algorithm):
    """GRPO with a clip that is wider upwards, and a mean in which all tokens are equal.

    An unlikely action reaches a symmetric clip before it has become likely, so entropy
    falls; a higher one leaves it room to grow. In the mean over tokens of all answers a
    long one weighs as much as its tokens.

    Differs from the paper: a batch has all episodes of the rollouts that it took, also
    where they are more than enough; too long answers have no penalty of their own.
    """

    config: Config

    def clipped(self, ratio: Tensor) -> Tensor:
        """Ratios from `1 - clip_coef` to `1 + clip_high`, equation 10."""
        return ratio.clamp(1 - self.config.clip_coef, 1 + self.config.clip_high)

    def mean(self, values: Tensor, data: TensorDict) -> Tensor:
        """The mean over the tokens of all episodes together, equation 12, 0-dim."""
        return (values * data["mask"]).sum() / data["tokens"].sum()


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

    def _rollout_due(self) -> tuple[TensorDict | None, Logs]:
        """All rollouts that are kept side by side, `[T, K * N]`, if they are enough."""
        latest, _ = super()._rollout_due()
        assert latest is not None
        evaluate_rollout(self.algorithm, latest)
        kept, config = [*self.kept, latest], self.config
        algorithm: Any = self.algorithm
        rollout = TensorDict.cat(kept, 1)
        _, used = algorithm.compared(rollout)
        informative = float(mean_of_all(used.sum().view(1)))
        enough = informative >= (config.batch_episodes or config.num_envs)
        ends = self.agent.sample_step >= config.total_steps
        if enough or ends or len(kept) >= config.max_rollouts:
            self.kept = []
            return rollout, {}
        self.kept = [*self.kept, latest.clone()]
        return None, algorithm.rollout_logs(rollout, rollout)

    def state_dict(self) -> dict[str, Any]:
        """The whole trainer, and what was kept of earlier rollouts."""
        kept = [on_ray.with_obs(self, x.to_dict()) for x in self.kept]
        return {**super().state_dict(), "kept": kept}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        size = self.config.num_steps, self.config.num_envs
        device = self.agent.device
        kept = [on_ray.with_tickets(self, x) for x in state["kept"]]
        self.kept = [TensorDict(x, size).to(device) for x in kept]
