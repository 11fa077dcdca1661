"""The loss of DPO, written out."""

from torch import Tensor
from torch.nn.functional import logsigmoid


def implicit_reward(log_prob: Tensor, reference: Tensor, beta: float) -> Tensor:
    """The reward `[B, 2]` for which the policy would be the best one."""
    return beta * (log_prob - reference).sum((2, 3))


def preference_loss(reward: Tensor) -> Tensor:
    """The mean of `-log P(first better than second)` over pairs, 0-dim."""
    margin = reward[:, 0] - reward[:, 1]
    return -logsigmoid(margin).mean()
