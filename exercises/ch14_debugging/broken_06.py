"""PPO with its objective on one screen."""

from typing import Any

from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import ppo


class Algorithm(ppo.Algorithm):
    """PPO with its three terms side by side."""

    def objective(
        self, data: TensorDict, log_prob: Tensor, entropy: Tensor, value: Any
    ) -> tuple[Tensor, Logs]:
        """The loss, from what the policy now says of the minibatch, `[B]` each."""
        policy_loss, logs = self.surrogate(data, log_prob)
        value_loss = self.value_loss(value, data)
        weighted = self.config.value_coef * value_loss
        weighted = weighted + self.config.entropy_coef * entropy.mean()
        loss = policy_loss + weighted
        logs |= {"loss": loss, "policy_loss": policy_loss, "value_loss": value_loss}
        logs |= {"entropy": entropy.mean()}
        return loss, {name: metric.detach() for name, metric in logs.items()}


class Trainer(ppo.Trainer):
    """PPO's schedule around another algorithm."""

    algorithm_class = Algorithm
