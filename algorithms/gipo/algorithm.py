"""The mathematics of GIPO.

Lu et al. 2026, "GIPO: Gaussian Importance Sampling Policy Optimization",
arXiv:2603.03955.
"""

from pydantic.dataclasses import dataclass
from torch import Tensor

from yieldrl.algorithms import appo, ppo
from yieldrl.core import Positive


@dataclass(frozen=True, kw_only=True)
class Config(appo.Config):
    """PPO with a smooth weight for a clip, beside a collector in the background."""

    gipo_sigma: Positive = 1.0
    """Standard deviation of the weight, in nats of the logarithm of the probability
    ratio. Higher lets actions of an older policy count for more, and the policy change
    more per rollout."""


class Algorithm(ppo.Algorithm):
    """PPO whose ratio theta / mu has a weight that falls as the two policies part.

    Where a clip lets an action count in full or not at all, the weight
    `exp(-0.5 (log r / sigma)^2)` is never quite 0. It is a constant to the gradient,
    which is `weight r A` times that of `log theta`: at most `exp(sigma^2 / 2) |A|`,
    however far off the ratio is.

    Differs from the paper: the weight alone bounds the gradient; the ratio is not also
    truncated.
    """

    config: Config

    def surrogate(self, ratio: Tensor, advantage: Tensor) -> Tensor:
        """The weighted ratio times the advantage, to be maximised, `[B]`."""
        log_ratio = ratio.detach().log()
        weight = (-0.5 * (log_ratio / self.config.gipo_sigma).square()).exp()
        return weight * ratio * advantage


class Trainer(appo.Trainer):
    """PPO's, beside a collector in the background."""

    config: Config
    config_class = Config
    algorithm_class = Algorithm
