"""What is done about actions of an older policy: four corrections of PPO.

Three policies have a part. mu acted, and its `log_prob` was recorded then. pi is where
learning from the rollout begins. theta is the one of the moment, which every gradient
step moves away from pi. Where collecting and learning take turns, mu is pi and nothing
is stale; beside a collector in the background mu may be older.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.buffers import gae, vtrace

from .config import Config


class Clip:
    """`clip`: the ratio theta / mu, clipped, as PPO always has it.

    An action that pi already does more often than mu by more than `clip_coef` gets no
    more likely. Advantages are those of the behaviour that was seen: no correction.
    """

    starts_anew: ClassVar[bool] = False
    """Whether the ratio starts from pi, not from what was recorded of mu."""

    def __init__(self, config: Config) -> None:
        self.config = config

    def advantages(
        self, rollout: TensorDict, reward: Tensor, next_value: Tensor
    ) -> Tensor:
        """Generalized advantage estimates `[T, N]`.

        Args:
            rollout: `[T, N]`, with `value` and the `log_prob` of mu, and as `start` the
                one that the ratio starts from, where anything asks for a ratio; and
                `discount`, where transitions last longer than one step.
            reward: `[T, N]`, scaled as the critic's values are.
            next_value: `[T, N]`, `V(next_obs)`.
        """
        return gae(
            reward,
            rollout["value"],
            next_value,
            rollout["terminated"],
            rollout["truncated"],
            rollout.get("discount", self.config.gamma),
            self.config.gae_lambda,
            rollout.get("valid", None),
        )

    def surrogate(self, ratio: Tensor, advantage: Tensor) -> Tensor:
        """What to maximise, `[B]`: the clipped surrogate, equation 7 of PPO's paper."""
        clip = self.config.clip_coef
        clipped = ratio.clamp(1 - clip, 1 + clip)
        return torch.minimum(ratio * advantage, clipped * advantage)


class Gipo(Clip):
    """`gipo`: the ratio theta / mu, with a weight that falls as the two part.

    Lu et al. 2026, "GIPO: Gaussian Importance Sampling Policy Optimization",
    arXiv:2603.03955. Where a clip lets an action count in full or not at all, the
    weight `exp(-0.5 (log r / sigma)^2)` is never quite 0. It is a constant to the
    gradient, which is `weight r A` times that of `log theta`: at most
    `exp(sigma^2 / 2) |A|`, however far off the ratio is.

    Differs from the paper: the weight alone bounds the gradient; the ratio is not also
    truncated.
    """

    def trust(self, ratio: Tensor) -> Tensor:
        """`exp(-0.5 (log r / sigma)^2)`, `[B]`, detached."""
        return (-0.5 * (ratio.detach().log() / self.config.gipo_sigma).square()).exp()

    def surrogate(self, ratio: Tensor, advantage: Tensor) -> Tensor:
        """What to maximise, `[B]`: the weighted ratio times the advantage."""
        return self.trust(ratio) * ratio * advantage


class Uncorrected(Clip):
    """`none`: the rollout is taken for one of pi; the ratio is theta / pi."""

    starts_anew = True


class VTrace(Uncorrected):
    """`vtrace`: advantages and returns of pi from what mu did; the ratio is theta / pi.

    Espeholt et al. 2018, arXiv:1802.01561. Steps weigh the less, the less likely pi is
    to take them; what the clip then limits is only how far theta goes from pi.
    """

    def advantages(
        self, rollout: TensorDict, reward: Tensor, next_value: Tensor
    ) -> Tensor:
        """V-trace's `[T, N]`, with both thresholds 1.

        They are equal, and so the targets of the critic are `advantage + value`, as
        those of the other corrections are.
        """
        return vtrace(
            rollout["start"] - rollout["log_prob"],
            reward,
            rollout["value"],
            next_value,
            rollout["terminated"],
            rollout["truncated"],
            rollout.get("discount", self.config.gamma),
            self.config.gae_lambda,
            rollout.get("valid", None),
        )[0]


CORRECTIONS: dict[str, type[Clip]] = {
    "none": Uncorrected,
    "clip": Clip,
    "gipo": Gipo,
    "vtrace": VTrace,
}
"""What `Config.correction` stands for."""
