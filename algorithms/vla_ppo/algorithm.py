"""The mathematics of PPO for policies whose actions are many tokens."""

from __future__ import annotations

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import ppo
from yieldrl.buffers import actions_taken

from .config import Config


class Algorithm(ppo.Algorithm):
    """PPO with one ratio per token, or one per chunk of actions.

    A policy may tell the log-probability of every token, `[B, L, D]`: of `D` numbers of
    each of a chunk's `L` actions. Tokens of actions that were not executed, because the
    episode ended or the next look came first, have no part in the ratio. A policy that
    tells one number, `[B]`, is trained as PPO trains it.

    Advantages are normalised over a minibatch before it is cut into micro batches, so
    that these change the memory that a step takes and nothing else.
    """

    config: Config

    def make_optimizer(self) -> torch.optim.Optimizer:
        """AdamW, with a learning rate for each of the model's parameter groups.

        Frozen parameters have no part in it.

        Raises:
            ValueError: If a group that the model does not have is given a rate.
        """
        config = self.config
        rates = {
            "policy": config.learning_rate,
            "adapters": config.adapter_learning_rate,
            "value": config.value_learning_rate,
        }
        groups = self.parameter_groups()
        for name in ("adapters", "value"):
            if rates[name] is not None and not groups.get(name):
                field = "adapter" if name == "adapters" else name
                raise config.error(
                    f"{field}_learning_rate",
                    f"the model {type(self.model).__name__} has no group of trainable"
                    f" parameters called {name!r}: leave it at None, or let its"
                    " parameter_groups() return one",
                )
        options = {"eps": 1e-5, "weight_decay": config.weight_decay, "fused": True}
        ordered = [name for name in rates if groups.get(name)]
        return torch.optim.AdamW(
            [
                {"params": groups[name], "lr": rates[name] or config.learning_rate}
                for name in ordered
            ],
            **options,
        )

    def parameter_groups(self) -> dict[str, list[torch.nn.Parameter]]:
        """The model's trainable parameters: `policy`, `adapters` and `value`.

        A model without `parameter_groups` has all of them in the first.
        """
        own = getattr(self.model, "parameter_groups", None)
        if own is not None:
            return own()
        return {"policy": [p for p in self.model.parameters() if p.requires_grad]}

    def anneal(self, fraction_done: float) -> None:
        """Let learning rates fall linearly, from the end of the demonstrations on."""
        cloned = self.config.demonstration_steps / self.config.total_steps
        super().anneal(max(0.0, (fraction_done - cloned) / (1 - cloned)))

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step on a minibatch `[B]`."""
        return super().learn(self.measured(data))

    def measured(self, data: TensorDict) -> TensorDict:
        """A minibatch `[B]` with all that is taken from the whole of it.

        Those are normalised advantages and `tokens [B]`, the mean number of executed
        tokens: a sum over a sample's tokens divided by that has as its mean over the
        samples the mean over all tokens, however the minibatch is cut.
        """
        data = data.copy()
        data["advantage"] = self.normalized(data["advantage"])
        start = data["log_prob"]
        if start.ndim > 1:
            count = executed(start, data).flatten(1).sum(1).float().mean()
            data["tokens"] = count.expand(len(data))
        return data

    def surrogate(self, data: TensorDict, log_prob: Tensor) -> tuple[Tensor, Logs]:
        """The policy's part of the loss, and how far it has moved.

        `approx_kl` is that of whole actions, the sum over their tokens, at both levels;
        `clip_fraction` is that of the ratios, of tokens or chunks.
        """
        if log_prob.ndim > 1 and self.config.ratio_level == "token":
            return self.token_surrogate(data, log_prob)
        whole = data.copy().set("log_prob", joint(data["log_prob"], data))
        return super().surrogate(whole, joint(log_prob, data))

    def token_surrogate(
        self, data: TensorDict, log_prob: Tensor
    ) -> tuple[Tensor, Logs]:
        """With a ratio for every token `[B, L, D]`, of executed actions alone.

        Every token has the advantage of its chunk, and counts alike.
        """
        mask = executed(log_prob, data)
        log_ratio = (log_prob - data["log_prob"]).where(mask, 0.0)
        ratio, rows = log_ratio.exp(), (-1, *[1] * (log_prob.ndim - 1))
        share = mask / data["tokens"].view(rows)
        gain = self.gain(ratio, data["advantage"].view(rows))
        with torch.no_grad():
            approx_kl = (ratio - 1 - log_ratio).flatten(1).sum(1).mean()
            clipped = (ratio - 1).abs() > self.config.clip_coef
            clip_fraction = (share * clipped).flatten(1).sum(1).mean()
        loss = -(share * gain).flatten(1).sum(1).mean()
        return loss, {"approx_kl": approx_kl, "clip_fraction": clip_fraction}

    def policy_loss(self, ratio: Tensor, advantage: Tensor) -> Tensor:
        """The surrogate with its sign turned; advantages are normalised before."""
        return -self.gain(ratio, advantage).mean()


def executed(log_prob: Tensor, data: TensorDict) -> Tensor:
    """Which tokens of a `log_prob [B, L, ...]` are of executed actions, bool.

    Those of the first `num_steps [B]` actions; without `num_steps`, all.
    """
    num_steps = data.get("num_steps", None)
    if num_steps is None:
        return torch.ones_like(log_prob, dtype=torch.bool)
    mask = actions_taken(num_steps, log_prob.shape[1])  # [B, L]
    return mask.view(*mask.shape, *[1] * (log_prob.ndim - 2)).expand_as(log_prob)


def joint(log_prob: Tensor, data: TensorDict) -> Tensor:
    """The logarithm of the probability of all executed tokens together, `[B]`."""
    if log_prob.ndim == 1:
        return log_prob
    return log_prob.where(executed(log_prob, data), 0.0).flatten(1).sum(1)
