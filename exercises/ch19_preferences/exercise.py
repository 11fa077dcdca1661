"""Your turn: DPO without its loss. Fill the gaps in `implicit_reward` and
`preference_loss`, check them and, when all holds, train with what you wrote:

    yieldrl check ch19
    python -m yieldrl.exercises.ch19_preferences.exercise
"""

from typing import Any

from tensordict import TensorDict
from torch import Tensor

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
    raise NotImplementedError("add up the tokens' log-ratios, in units of beta")


def preference_loss(reward: Tensor) -> Tensor:
    """The mean of `-log P(first better than second)` over pairs, 0-dim.

    Args:
        reward: Of both answers of B pairs, `[B, 2]`, the better one first.
    """
    # The gap. By Bradley and Terry P is the sigmoid of the difference. Take
    # torch.nn.functional.logsigmoid, whose gradient does not vanish in rounding.
    raise NotImplementedError("compare the rewards of each pair")


class Algorithm(dpo.Algorithm):
    """DPO that learns by the loss above."""

    def loss(self, data: TensorDict) -> Any:
        """The loss of pairs `[B, 2, T]`, and what to log."""
        reference = data["reference"]
        log_prob = reference + self.log_ratio(data)
        reward = implicit_reward(log_prob, reference, self.config.beta)
        loss = preference_loss(reward)
        return loss, {"loss": loss.detach(), "reward": reward.detach().mean()}


class Trainer(dpo.Trainer):
    """The schedule of DPO, as it is."""

    algorithm_class = Algorithm


if __name__ == "__main__":
    for log in Trainer(dpo.Config(eval_episodes=200))():
        if log["log_type"] == "evaluate":
            print(log["learn_step"], float(log["logs"]["success_rate"]))
