"""The mathematics of PPO (Schulman et al. 2017, arXiv:1707.06347).

With what "The 37 Implementation Details of PPO" (Huang et al. 2022) found to matter.
"""

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs, Policy
from yieldrl.buffers import Minibatches, transitions
from yieldrl.on_policy import OnPolicyAlgorithm, follow_kl

from .config import Config


class Algorithm(OnPolicyAlgorithm):
    """Clipped surrogate objective, with value loss and entropy bonus.

    Differs from the paper, as its authors' code does: orthogonal initialisation, scaled
    rewards, normalised advantages, annealed learning rate, clipped gradients, and 1e-5
    as Adam's epsilon.
    """

    config: Config
    model: Policy

    def make_optimizer(self) -> torch.optim.Optimizer:
        parameters, rate = self.model.parameters(), self.config.learning_rate
        return torch.optim.Adam(parameters, lr=rate, eps=1e-5, fused=True)

    def passes(self, prepared: TensorDict, seed: int) -> Minibatches:
        """Epochs in random order over the transitions of a rollout `[T, N]`."""
        config, pieces = self.config, transitions(prepared)
        return Minibatches(pieces, config.num_epochs, config.num_minibatches, seed)

    def learn_from(self, minibatches: Minibatches, learn: Any) -> Logs:
        """Let `learn` take a gradient step on the minibatch that is due."""
        logs = super().learn_from(minibatches, learn)
        limit, desired = self.config.target_kl, self.config.desired_kl
        if limit is not None and float(logs["approx_kl"]) > 1.5 * limit:
            minibatches.stop()
        if desired is not None:
            follow_kl(self, float(logs["approx_kl"]), desired)
        return logs

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step on a minibatch `[B]`."""
        return self.minimize(self.loss, data, max_grad_norm=self.config.max_grad_norm)

    def loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """The loss of a minibatch `[B]`, and metrics."""
        inputs = self.model.inputs(data)
        evaluated = self.model.evaluate_actions(inputs, data["action"])
        return self.objective(data, *evaluated)

    def objective(
        self, data: TensorDict, log_prob: Tensor, entropy: Tensor, value: Tensor | None
    ) -> tuple[Tensor, Logs]:
        """The total loss, from `evaluate_actions` of the minibatch, `[B]` each."""
        policy_loss, logs = self.surrogate(data, log_prob)
        entropy = entropy.mean()
        loss = policy_loss - self.config.entropy_coef * entropy
        logs |= {"policy_loss": policy_loss, "entropy": entropy}
        if value is not None:
            value_loss = logs["value_loss"] = self.value_loss(value, data)
            loss = loss + self.config.value_coef * value_loss
        logs = {"loss": loss, **logs, **self.model.metrics()}
        return loss, {name: metric.detach() for name, metric in logs.items()}

    def surrogate(self, data: TensorDict, log_prob: Tensor) -> tuple[Tensor, Logs]:
        """Policy loss, `approx_kl` and `clip_fraction`."""
        log_ratio = log_prob - data["log_prob"]
        ratio = log_ratio.exp()
        loss = self.policy_loss(ratio, data["advantage"])
        with torch.no_grad():
            approx_kl = (ratio - 1 - log_ratio).mean()  # Schulman 2020, estimator k3
            clipped = (ratio - 1).abs() > self.config.clip_coef
        return loss, {"approx_kl": approx_kl, "clip_fraction": clipped.float().mean()}

    def policy_loss(self, ratio: Tensor, advantage: Tensor) -> Tensor:
        """Negated surrogate; advantages `[B]` are not normalized yet."""
        return -self.gain(ratio, self.normalized(advantage)).mean()

    def gain(self, ratio: Tensor, advantage: Tensor) -> Tensor:
        """The clipped surrogate, equation 7, to be maximised, `[B]`."""
        clip = self.config.clip_coef
        near = ratio.clamp(1 - clip, 1 + clip)
        return torch.minimum(ratio * advantage, near * advantage)

    def value_loss(self, value: Tensor, data: TensorDict) -> Tensor:
        """Half the squared error to the returns, clipped if the config says so."""
        error = (value - data["returns"]).square()
        clip = self.config.clip_value
        if clip is not None:
            near = data["value"] + (value - data["value"]).clamp(-clip, clip)
            error = torch.maximum(error, (near - data["returns"]).square())
        return 0.5 * error.mean()
