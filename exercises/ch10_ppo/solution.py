"""PPO with its policy loss written out."""

from __future__ import annotations

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import ppo


def policy_loss(
    log_prob: Tensor, old_log_prob: Tensor, advantage: Tensor, clip_coef: float
) -> Tensor:
    """PPO's policy loss on a minibatch, 0-dim: what is minimised."""
    a = advantage.detach()
    a = (a - a.mean()) / (a.std() + 1e-8)
    ratio = (log_prob - old_log_prob.detach()).exp()
    clipped = ratio.clamp(1 - clip_coef, 1 + clip_coef)
    return -torch.minimum(ratio * a, clipped * a).mean()


class Algorithm(ppo.Algorithm):
    """PPO that learns by the loss above."""

    def surrogate(self, data: TensorDict, log_prob: Tensor) -> tuple[Tensor, Logs]:
        """The policy's part of the loss, and how far it has moved."""
        _, logs = super().surrogate(data, log_prob)
        old, advantage = data["log_prob"], data["advantage"]
        return policy_loss(log_prob, old, advantage, self.config.clip_coef), logs


class Trainer(ppo.Trainer):
    """The schedule of PPO, as it is."""

    algorithm_class = Algorithm


if __name__ == "__main__":
    for log in Trainer(ppo.Config(total_steps=30_000, eval_every=5_000))():
        if log["log_type"] == "evaluate":
            print(log["sample_step"], float(log["logs"]["episode_return"]))
