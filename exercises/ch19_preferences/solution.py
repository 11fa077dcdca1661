"""Chapter 19, preferences."""

from typing import Any

from tensordict import TensorDict
from torch import Tensor
from torch.nn.functional import logsigmoid

from yieldrl.algorithms import dpo


def implicit_reward(log_prob: Tensor, reference: Tensor, beta: float) -> Tensor:
    """The reward `[B, 2]` for which the policy would be the best one.

    Args:
        log_prob: What the policy says of every token of the answers of B pairs, `[B, 2,
            T, K]`, the better answer first; 0 after an answer's end.
        reference: The same of the policy at the start.
        beta: What a nat of divergence from the reference costs.
    """
    # The gap. One line is enough: of an answer, not of a token, is the reward.
    # gap: add up the tokens' log-ratios, in units of beta
    return beta * (log_prob - reference).sum((2, 3))
    # end


def preference_loss(reward: Tensor) -> Tensor:
    """The mean of `-log P(first better than second)` over pairs, 0-dim.

    Args:
        reward: Of both answers of B pairs, `[B, 2]`, the better one first.
    """
    # The gap. By Bradley and Terry P is the sigmoid of the difference. Take
    # torch.nn.functional.logsigmoid, whose gradient does not vanish in rounding.
    # gap: compare the rewards of each pair
    margin = reward[:, 0] - reward[:, 1]
    return -logsigmoid(margin).mean()
    # end


class Algorithm(dpo.Algorithm):
    """DPO that learns by the loss above."""

    def loss(self, data: TensorDict, evaluated: Any = None) -> Any:
        """The loss of pairs `[B, 2, T]`, and what to log."""
        reference = data["reference"]
        log_prob = reference + self.log_ratio(data)
        reward = implicit_reward(log_prob, reference, self.config.beta)
        loss = preference_loss(reward)
        return loss, {"loss": loss.detach(), "reward": reward.detach().mean()}
