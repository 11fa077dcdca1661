"""PPO with its objective on one screen."""

from typing import Any

from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import ppo


class Algorithm(ppo.Algorithm):
    """PPO with its three terms side by side."""

    def loss(
        self, data: TensorDict, evaluated: tuple[Any, ...] | None = None
    ) -> tuple[Tensor, Logs]:
        """The loss, from what the policy now says of the minibatch, `[B]` each."""
        model: Any = self.model
        now: Any = evaluated
        if now is None:
            now = model.evaluate_actions(model.inputs(data), data["action"])
        _, logs = super().loss(data, now)
        log_prob, entropy, value = now
        ratio = (log_prob - data["log_prob"]).exp()
        advantage = self.normalized(data["advantage"])
        policy_loss = -self.surrogate(ratio, advantage).mean()
        loss = self.total(policy_loss, self.value_loss(value, data), entropy.mean())
        return loss, {**logs, "loss": loss.detach()}

    def total(self, policy_loss: Tensor, value_loss: Tensor, entropy: Tensor) -> Tensor:
        """The three terms, each with its weight, 0-dim."""
        value_loss = self.config.value_coef * value_loss
        return policy_loss + value_loss + self.config.entropy_coef * entropy
