"""The mathematics of PPO for policies whose actions are many tokens."""

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import ppo
from yieldrl.on_policy import executed_mask, sum_executed
from yieldrl.vla.parameter_groups import optimizer_groups

from .config import Config


class Algorithm(ppo.Algorithm):
    """PPO with one ratio per token, one per action, or one per chunk of actions.

    A policy may tell the log-probability of every token, `[B, L, D]`: of `D` numbers of
    each of a chunk's `L` actions. Tokens of actions that were not executed, because the
    episode ended or the next look came first, have no part in the ratio, nor in the
    entropy. A policy that tells one number, `[B]`, is trained as PPO trains it.
    """

    config: Config

    def make_optimizer(self) -> torch.optim.Optimizer:
        """AdamW, with a learning rate for each of the model's parameter groups.

        ValueError if a group that the model does not have is given a rate.
        """
        options = {"eps": 1e-5, "weight_decay": self.config.weight_decay, "fused": True}
        return torch.optim.AdamW(optimizer_groups(self.model, self.config), **options)

    def anneal(self, fraction_done: float) -> None:
        """Let learning rates fall linearly, from the end of the demonstrations on."""
        super().anneal(self.config.improved_share(fraction_done))

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step on a minibatch `[B]`."""
        return super().learn(self.measured(data))

    def measured(self, data: TensorDict) -> TensorDict:
        """A minibatch `[B]` with what micro batches would not take alike: normalised
        advantages and `parts [B]`, the mean number of ratios of a decision."""
        data = data.copy()
        data["advantage"] = super().normalized(data["advantage"])
        if data["log_prob"].ndim > 1:
            mask = executed_mask(self.parts(data["log_prob"]), data)
            data["parts"] = mask.flatten(1).sum(1).float().mean().expand(len(data))
        return data

    def normalized(self, advantage: Tensor) -> Tensor:
        """Advantages as they are: `measured` normalised those of the minibatch."""
        return advantage

    def loss(
        self, data: TensorDict, evaluated: tuple[Any, ...] | None = None
    ) -> tuple[Tensor, Logs]:
        """PPO's, of whole chunks or with a ratio for each of their parts.

        The entropy is that of executed tokens; `approx_kl` is of whole chunks at all
        levels, `clip_fraction` of the ratios.
        """
        model: Any = self.model
        found = evaluated
        if found is None:
            found = model.evaluate_actions(model.inputs(data), data["action"])
        log_prob, entropy, value = found
        entropy = sum_executed(entropy, data)
        if log_prob.ndim > 1 and self.config.ratio_level != "chunk":
            return self.parts_loss(data, log_prob, entropy, value)
        whole = data.copy().set("log_prob", sum_executed(data["log_prob"], data))
        return super().loss(whole, (sum_executed(log_prob, data), entropy, value))

    def parts(self, log_prob: Tensor) -> Tensor:
        """Of tokens `[B, L, D]` what has a ratio: they, or their actions `[B, L]`."""
        by_action = self.config.ratio_level == "action"
        return log_prob.flatten(2).sum(2) if by_action else log_prob

    def parts_loss(
        self, data: TensorDict, log_prob: Tensor, entropy: Tensor, value: Tensor | None
    ) -> tuple[Tensor, Logs]:
        """With a ratio for every token, or every action, of those executed alone.

        Each has the advantage of its decision, and counts alike.
        """
        config = self.config
        now, before = self.parts(log_prob), self.parts(data["log_prob"])
        mask = executed_mask(now, data)
        log_ratio = (now - before).where(mask, 0.0)
        ratio = log_ratio.exp()
        share = mask / data["parts"].view(-1, *[1] * (now.ndim - 1))
        advantage = data["advantage"]  # [B], or of each action, [B, L]
        more = [1] * (now.ndim - advantage.ndim)
        gain = self.surrogate(ratio, advantage.view(*advantage.shape, *more))
        policy_loss = -(share * gain).flatten(1).sum(1).mean()
        entropy = entropy.mean()
        loss = policy_loss - config.entropy_coef * entropy
        logs = {"policy_loss": policy_loss, "entropy": entropy}
        if value is not None:
            value_loss = logs["value_loss"] = self.value_loss(value, data)
            loss = loss + config.value_coef * value_loss
        with torch.no_grad():
            logs["approx_kl"] = (ratio - 1 - log_ratio).flatten(1).sum(1).mean()
            clipped = (ratio - 1).abs() > config.clip_coef
            logs["clip_fraction"] = (share * clipped).flatten(1).sum(1).mean()
        logs = {"loss": loss, **logs, **self.model.metrics()}
        return loss, {name: metric.detach() for name, metric in logs.items()}
