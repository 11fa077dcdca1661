"""Chapter 8, REINFORCE."""

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import reinforce


def returns_to_go(reward: Tensor, ended: Tensor, gamma: float) -> Tensor:
    """What followed each step until its episode ended, `[T, N]`, of `[T, N]`.

    Args:
        reward: What each step earned.
        ended: Bool; an episode ended with this step, and another may begin in the next
            row. The last episode of a column need not be whole.
        gamma: Discount: a reward `k` steps later counts `gamma ** k` times as much.

    Returns:
        A new tensor; the arguments stay as they are.
    """
    returns = torch.zeros_like(reward)
    # The first gap. A loop of two lines is enough:
    #   G_t = r_t + gamma G_{t+1}      and nothing of G_{t+1} where an episode ended
    # gap: sum the rewards backwards in time, row by row
    following = torch.zeros_like(reward[0])
    for t in reversed(range(len(reward))):
        following = reward[t] + gamma * following * ~ended[t]
        returns[t] = following
    # end
    return returns


def policy_loss(
    logits: Tensor, action: Tensor, returns: Tensor, baseline: Tensor
) -> Tensor:
    """The number whose gradient is the negative policy gradient, 0-dim.

    Args:
        logits: What the policy says of every action, `[B, A]`; a softmax over actions
            makes probabilities of it.
        action: Which action was taken, `[B]`.
        returns: What followed it, `[B]`.
        baseline: What was expected there, `[B]`. It may come from a network of its
            own, which this loss must not train.
    """
    # The second gap: -mean((G - b) log pi(a | s)), over the steps of the batch.
    # gap: take log pi of the actions that were taken, and weigh it
    log_prob = logits.log_softmax(1).gather(1, action[:, None]).squeeze(1)
    weight = returns - baseline.detach()
    return -(weight * log_prob).mean()
    # end


class Algorithm(reinforce.Algorithm):
    """REINFORCE that learns by the returns and the loss above."""

    @torch.no_grad()
    def prepare(self, episodes: TensorDict) -> TensorDict:
        """From steps `[T, N]` to those of whole episodes `[B]`, with `returns`."""
        ended = episodes["terminated"] | episodes["truncated"]
        reward, gamma = episodes["reward"], self.config.gamma
        episodes["returns"] = returns_to_go(reward, ended, gamma).float()
        steps = episodes.flatten(0, 1)
        return steps[steps["valid"]].select("obs", "action", "returns")

    def loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """The loss over steps `[B]`, and what to log."""
        logits, returns = self.model.action(data["obs"]), data["returns"]
        baseline = self.running_mean.value.expand_as(returns)
        loss = policy_loss(logits, data["action"], returns, baseline)
        logs = {"loss": loss.detach(), "returns": returns.mean()}
        return loss, logs
