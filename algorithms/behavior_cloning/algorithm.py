"""The mathematics of behaviour cloning.

Pomerleau 1989, "ALVINN: An Autonomous Land Vehicle in a Neural Network", NIPS 1;
Pomerleau 1991, "Efficient Training of Artificial Neural Networks for Autonomous
Navigation", Neural Computation 3(1).
"""

from __future__ import annotations

import math
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl import abstractions
from yieldrl.abstractions import Logs, Policy
from yieldrl.buffers import Windows, actions_taken

from .config import Config


class Algorithm(abstractions.Algorithm):
    """Make the expert's actions likely: maximum likelihood, as in any classification.

    Differs from the paper: any policy whose log-probabilities can be had is cloned,
    where ALVINN regressed to a hill of activation around the right steering angle; a
    critic may learn the expert's returns beside it; and Adam takes the steps.

    Raises:
        TypeError: If the model is no `Policy`, or one that remembers earlier steps.
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
        parameters, rate = self.model.parameters(), config.learning_rate
        trained = [p for p in parameters if p.requires_grad]
        betas = (0.9, 0.95)  # transformers from scratch leave their plateau earlier
        self.optimizer = torch.optim.Adam(trained, lr=rate, betas=betas, fused=True)

    @property
    def learns_values(self) -> bool:
        """Whether there is a critic to learn the returns."""
        return self.model.has_critic and self.config.value_coef > 0

    def predict(self, obs: Any) -> Tensor:
        """The most likely action `[B, ...]`."""
        return self.model.predict(obs)

    def update(self, rollout: TensorDict) -> Logs:
        """One gradient step on all actions of a rollout `[T, N]`, as an expert's."""
        windows = Windows(rollout.to(self.device), None, self.config.gamma, seed=0)
        everything = rollout.numel()
        return self.train_step(
            windows.minibatch(0, everything, values=self.learns_values)
        )

    @torch.no_grad()
    def tells_actions_apart(self, data: TensorDict) -> bool:
        """Whether the log-probability of a chunk `[B, L, ...]` comes in parts.

        Then actions that do not exist, those after the episode's end, can be left out.
        """
        one = data[:1]
        return self.model.evaluate_actions(one["obs"], one["action"])[0].ndim > 1

    def loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """The objective to minimise on a minibatch `[B]`, and what to log of it."""
        model = self.model
        log_prob, entropy, value = model.evaluate_actions(data["obs"], data["action"])
        log_likelihood = self.log_likelihood(log_prob, data)
        loss = -log_likelihood
        logs = {"log_likelihood": log_likelihood, "entropy": entropy.mean()}
        if value is not None and self.learns_values:
            value_loss = logs["value_loss"] = self.value_loss(value, data)
            loss = loss + self.config.value_coef * value_loss
        logs = {"loss": loss, **logs, **model.metrics()}
        return loss, {name: metric.detach() for name, metric in logs.items()}

    def log_likelihood(self, log_prob: Tensor, data: TensorDict) -> Tensor:
        """Mean log-probability of a demonstrated action, in nats, 0-dim.

        Args:
            log_prob: `[B]`, or in parts `[B, ...]`; of chunks `[B]` or `[B, L, ...]`.
            data: The minibatch. With chunks `num_steps [B]` says how many of their
                actions exist: others do not count, and `[B]` is of L that all do.
        """
        if "num_steps" not in set(data.keys()):
            parts = log_prob.flatten(1) if log_prob.ndim > 1 else log_prob.unsqueeze(1)
            return parts.sum(1).mean()
        length = data["action"].shape[1]
        if log_prob.ndim == 1:
            return log_prob.mean() / length
        exists = actions_taken(data["num_steps"], length)  # [B, L]
        each = log_prob.flatten(2).sum(2) if log_prob.ndim > 2 else log_prob
        return torch.where(exists, each, 0.0).sum() / exists.sum()

    def value_loss(self, value: Tensor, data: TensorDict) -> Tensor:
        """Half the squared error of values `[B]` to the returns."""
        return 0.5 * (value - data["returns"]).square().mean()

    @torch.no_grad()
    def value_target(self, data: TensorDict) -> Tensor:
        """Discounted returns `[B]`, bootstrapped where an episode was cut."""
        if "next_obs" not in set(data.keys()):  # all have terminated
            return data["returns"]
        return data["returns"] + data["discount"] * self.model.get_value(
            data["next_obs"]
        )

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step on a minibatch `[B]`."""
        if self.learns_values:
            data = data.copy().set("returns", self.value_target(data))
        data, norm = data.exclude("next_obs", "discount"), self.config.max_grad_norm
        limit = math.inf if norm is None else norm
        return self.minimize(self.loss, data, max_grad_norm=limit)
