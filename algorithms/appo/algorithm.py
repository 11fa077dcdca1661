"""The mathematics of asynchronous PPO.

Espeholt et al. 2018, "IMPALA: Scalable Distributed Deep-RL with Importance Weighted
Actor-Learner Architectures", arXiv:1802.01561, equations 1 and 2, and PPO's clipped
ratio (Luo et al. 2020, "IMPACT", arXiv:1912.00167).

Three policies have a part. mu acted, and its `log_prob` was recorded then. pi is where
learning from the rollout begins. theta is the one of the moment, which every gradient
step moves away from pi. Where collecting and learning take turns, mu is pi.
"""

from typing import Literal

import torch
from pydantic.dataclasses import dataclass
from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import ppo
from yieldrl.algorithms.rollouts import evaluate_rollout, in_chunks
from yieldrl.functional import vtrace


@dataclass(frozen=True, kw_only=True)
class Config(ppo.Config):
    """PPO beside a collector in the background, with V-trace; the defaults solve
    CartPole-v1 in 100 000 steps."""

    collection: Literal["sync", "async", "ray"] = "async"
    """`async` steps the environments in a background thread, with a copy of the policy,
    while the learner learns; `sync` does both in turn, as PPO does."""


class Algorithm(ppo.Algorithm):
    """PPO whose advantages and returns are those of pi, estimated from what mu did.

    Steps weigh the less, the less likely pi is to take them; what the clip then limits
    is only how far theta goes from pi, for the ratio is theta / pi.
    """

    @torch.no_grad()
    def prepare(self, rollout: TensorDict) -> TensorDict:
        """Compute V-trace's advantages and returns, once per rollout `[T, N]`.

        What comes back has the `log_prob` of pi, from which the ratio starts.
        """
        evaluate_rollout(self, rollout)
        by_pi = in_chunks(self.evaluated, self.model, rollout)
        with_pi = rollout.copy().set("log_prob_now", by_pi["log_prob"])
        data = super().prepare(with_pi)
        rollout.update(with_pi.select("value", "advantage", "returns"))
        return data.rename_key_("log_prob_now", "log_prob")

    def advantage(
        self, rollout: TensorDict, reward: Tensor, next_value: Tensor
    ) -> Tensor:
        """V-trace's `[T, N]`, with both thresholds 1.

        They are equal, and so the critic's targets are `advantage + value`, as PPO's.
        """
        log_ratio = rollout["log_prob_now"] - rollout["log_prob"]
        steps = reward, rollout["value"], next_value
        return vtrace(log_ratio, *steps, *self.recursion(rollout))[0]


class Trainer(ppo.Trainer):
    """PPO's, beside a collector in the background."""

    config: Config
    config_class = Config
    algorithm_class = Algorithm
