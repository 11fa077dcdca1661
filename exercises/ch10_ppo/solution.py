"""Chapter 10, PPO."""

import torch
from torch import Tensor

from yieldrl.algorithms import ppo


def policy_loss(
    log_prob: Tensor, old_log_prob: Tensor, advantage: Tensor, clip_coef: float
) -> Tensor:
    """PPO's policy loss on a minibatch, 0-dim: what is minimised.

    Args:
        log_prob: `log pi(a | s)` of the policy that learns, `[B]`; it has a gradient.
        old_log_prob: The same of the policy that acted, as it was stored, `[B]`.
        advantage: How much better each action was than expected, `[B]`, unscaled.
        clip_coef: Epsilon: how far the ratio may go from 1 and still gain.

    Returns:
        The loss; only `log_prob` gets a gradient of it.
    """
    # The gap. Four steps, a line each:
    #   1. centre the advantages of this minibatch, and divide by their standard
    #      deviation + 1e-8
    #   2. the ratio of probabilities, now over then, from their logarithms
    #   3. the objective of each transition, with the ratio as it is and clipped: the
    #      smaller of the two counts
    #   4. the mean over the minibatch; and a loss is minimised
    # Old log-probabilities and advantages are numbers: detach what might not be.
    # gap: begin with the advantages, then the ratio
    a = advantage.detach()
    a = (a - a.mean()) / (a.std() + 1e-8)
    ratio = (log_prob - old_log_prob.detach()).exp()
    clipped = ratio.clamp(1 - clip_coef, 1 + clip_coef)
    return -torch.minimum(ratio * a, clipped * a).mean()
    # end


class Algorithm(ppo.Algorithm):
    """PPO that learns by the loss above."""

    def normalized(self, advantage: Tensor) -> Tensor:
        """Advantages as they are: the loss above centres and scales them."""
        return advantage

    def surrogate(self, ratio: Tensor, advantage: Tensor) -> Tensor:
        """The objective, to be maximised, 0-dim."""
        log_prob, clip_coef = ratio.log(), self.config.clip_coef
        return -policy_loss(log_prob, torch.zeros_like(ratio), advantage, clip_coef)
