"""PPO with its policy loss written out."""

import torch
from torch import Tensor


def policy_loss(
    log_prob: Tensor, old_log_prob: Tensor, advantage: Tensor, clip_coef: float
) -> Tensor:
    """PPO's policy loss on a minibatch, 0-dim: what is minimised."""
    a = advantage.detach()
    a = (a - a.mean()) / (a.std() + 1e-8)
    ratio = (log_prob - old_log_prob.detach()).exp()
    clipped = ratio.clamp(1 - clip_coef, 1 + clip_coef)
    return -torch.minimum(ratio * a, clipped * a).mean()
