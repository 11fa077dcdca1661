"""The mathematics of behaviour cloning (Pomerleau 1989, "ALVINN", NIPS 1)."""

import math
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl import abstractions
from yieldrl.abstractions import Logs, Policy
from yieldrl.algorithms.tokens import sum_executed

from .config import Config


class Algorithm(abstractions.Algorithm):
    """Make the expert's actions likely: maximum likelihood, as in any classification.

    Differs from the paper, which regressed to a hill of activation around the right
    steering angle: any policy with log-probabilities is cloned, a critic may learn the
    expert's returns beside it, and Adam takes the steps. TypeError if the model is no
    `Policy`, or one with a memory.
    """

    config: Config
    model: Policy

    def __init__(self, model: Policy, config: Config) -> None:
        if not isinstance(model, Policy) or hasattr(model, "memory_size"):
            raise TypeError(
                f"{type(model).__name__} cannot be cloned into: take a Policy without a"
                " memory, as that of PPO, because steps are learned out of their order"
            )
        super().__init__(model, config)
        learned = [p for p in self.model.parameters() if p.requires_grad]
        options: dict[str, Any] = {"lr": config.learning_rate, "fused": True}
        options["betas"] = (0.9, 0.95)  # shortens plateaus of new transformers
        self.optimizer = torch.optim.Adam(learned, **options)

    @property
    def learns_values(self) -> bool:
        """Whether there is a critic to learn the returns."""
        return self.model.has_critic and self.config.value_coef > 0

    def predict(self, obs: Any) -> Tensor:
        """The most likely action `[B, ...]`."""
        return self.model.predict(obs)

    def loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """The objective to minimise on a minibatch `[B]`, and what to log of it."""
        model = self.model
        log_prob, entropy, value = model.evaluate_actions(data["obs"], data["action"])
        log_likelihood = self.log_likelihood(log_prob, data)
        loss = -log_likelihood
        entropy = sum_executed(entropy, data).mean()
        logs = {"log_likelihood": log_likelihood, "entropy": entropy}
        if value is not None and self.learns_values:
            value_loss = 0.5 * (value - data["returns"]).square().mean()
            loss = loss + self.config.value_coef * value_loss
            logs["value_loss"] = value_loss
        logs = {"loss": loss, **logs, **model.metrics()}
        return loss, {name: metric.detach() for name, metric in logs.items()}

    def log_likelihood(self, log_prob: Tensor, data: TensorDict) -> Tensor:
        """Mean log-probability of a demonstrated action, in nats, 0-dim.

        Args:
            log_prob: `[B]`, or in parts `[B, ...]`; of chunks `[B]` or `[B, L, ...]`.
            data: Says `num_steps [B]`, how many actions of chunks exist; where
                `log_prob` is `[B]` all L do.
        """
        total, num_steps = sum_executed(log_prob, data), data.get("num_steps", None)
        return total.mean() if num_steps is None else total.sum() / num_steps.sum()

    @torch.no_grad()
    def value_target(self, data: TensorDict) -> Tensor:
        """Discounted returns `[B]`, bootstrapped where an episode was cut."""
        next_obs = data.get("next_obs", None)
        if next_obs is None:  # all episodes terminated
            return data["returns"]
        return data["returns"] + data["discount"] * self.model.get_value(next_obs)

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step on a minibatch `[B]`."""
        if self.learns_values:
            data = data.copy().set("returns", self.value_target(data))
        data = data.exclude("next_obs", "discount")
        limit = self.config.max_grad_norm or math.inf
        return self.minimize(self.loss, data, max_grad_norm=limit)
