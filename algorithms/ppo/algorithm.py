"""The mathematics of PPO.

Schulman et al. 2017, "Proximal Policy Optimization Algorithms", arXiv:1707.06347; with
the details that Huang et al. 2022, "The 37 Implementation Details of Proximal Policy
Optimization", found to matter.
"""

from __future__ import annotations

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs, Policy
from yieldrl.buffers import gae
from yieldrl.foundations import mean_and_std, ranks, spaces
from yieldrl.networks import RewardScaler
from yieldrl.runtime.acting_record import CHUNK

from .config import Config
from .update import RolloutAlgorithm

UNUSED = "next_obs", "reward", "terminated", "truncated", "policy_version"
"""Entries of a rollout that minibatches do without."""

NO_LOG_PROB = (
    "the rollout holds no log_prob of its actions: let agent.complete(rollout) add it,"
    " or learn from it by trainer.update(rollout)"
)


class Algorithm(RolloutAlgorithm):
    """Clipped surrogate objective, with value loss and entropy bonus.

    Differs from the paper: orthogonal initialisation, normalised advantages, scaled
    rewards, Adam's epsilon 1e-5, annealed learning rate and clipped gradients, as its
    authors' code has.
    """

    config: Config
    model: Policy

    def __init__(self, model: Policy, config: Config) -> None:
        super().__init__(model, config)
        self.optimizer = self.make_optimizer()
        self.reward_scaler = (
            RewardScaler(config.num_envs, config.gamma).to(self.device)
            if config.normalize_reward
            else None
        )

    def make_optimizer(self) -> torch.optim.Optimizer:
        """What takes the gradient steps."""
        parameters, rate = self.model.parameters(), self.config.learning_rate
        return torch.optim.Adam(parameters, lr=rate, eps=1e-5, fused=True)

    def predict(self, obs: Any) -> Tensor:
        """The most likely action `[B, ...]`."""
        return self.model.predict(obs)

    @torch.no_grad()
    def prepare(self, rollout: TensorDict) -> TensorDict:
        """Compute advantages and returns, once per rollout `[T, N]`; nothing moves.

        `value`, `advantage` and `returns` are added to it. What comes back is what
        minibatches are cut from.

        Raises:
            ValueError: If it has no `log_prob`.
        """
        if self.takes_ratio and "log_prob" not in set(rollout.keys()):
            raise ValueError(NO_LOG_PROB)
        if "value" not in set(rollout.keys()) or self.is_stale(rollout):
            inputs = self.model.inputs(rollout).flatten(0, 1)
            rollout["value"] = self.values(inputs).view(rollout.batch_size)
        rollout["advantage"] = self.advantages(rollout)
        rollout["returns"] = rollout["advantage"] + rollout["value"]
        return rollout.exclude(*UNUSED)

    def update_normalization(self, rollout: TensorDict) -> None:
        """Move all running statistics, after `prepare` and before learning.

        The ratio accounts for the observations' move.
        """
        if self.reward_scaler is not None:
            self.reward_scaler.update(rollout)
        self.model.update_normalization(rollout)

    def forget_episodes(self) -> None:
        """Drop what is carried of the episodes before a rollout that continues none."""
        if self.reward_scaler is not None:
            self.reward_scaler.forget()

    def is_stale(self, rollout: TensorDict) -> bool:
        """Whether other weights acted than those of now.

        Then values are asked anew: the critic of now says those after the last
        transitions, too.
        """
        version = rollout.get("policy_version", None)
        now = self.counters.policy_version
        return version is not None and bool((version != now).any())

    def advantages(self, rollout: TensorDict) -> Tensor:
        """Advantages `[T, N]`, from scaled rewards."""
        reward = rollout["reward"]
        if self.reward_scaler is not None:
            reward = self.reward_scaler.preview(rollout)  # it moves in `begin_update`
        return self.advantage(rollout, reward, self.next_values(rollout))

    def advantage(
        self, rollout: TensorDict, reward: Tensor, next_value: Tensor
    ) -> Tensor:
        """Generalized advantage estimates `[T, N]`; returns are `advantage + value`.

        Args:
            rollout: `[T, N]`, with `value` and the `log_prob` of the policy that acted;
                and `discount`, where transitions last longer than one step.
            reward: `[T, N]`, scaled as the critic's values are.
            next_value: `[T, N]`, `V(next_obs)`.
        """
        ends = rollout["terminated"], rollout["truncated"]
        gamma = rollout.get("discount", self.config.gamma)
        rest = gamma, self.config.gae_lambda, rollout.get("valid", None)
        return gae(reward, rollout["value"], next_value, *ends, *rest)

    def next_values(self, rollout: TensorDict) -> Tensor:
        """`V(next_obs)`, `[T, N]`.

        Within an episode that is the value of the following row. Only where the data
        or an episode were cut must the critic look at the last observation itself.
        """
        next_value = rollout["value"].roll(-1, dims=0)
        cut = rollout["truncated"].clone()
        cut[-1] = True
        index = cut.flatten().nonzero().squeeze(1)
        last = self.model.next_inputs(rollout.flatten(0, 1)[index])
        next_value.view(-1)[index] = self.values(last)
        return next_value

    def values(self, obs: Any) -> Tensor:
        """`V(s)` of observations `[B, ...]`, `[B]`; zeros without a critic."""
        if not self.model.has_critic:
            like = {"dtype": torch.float32, "device": self.device}
            return torch.zeros(spaces.batch_size(obs), **like)
        return torch.cat([self.model.get_value(part) for part in obs.split(CHUNK)])

    def loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """The objective to minimise on a minibatch `[B]`, and what to log of it."""
        inputs = self.model.inputs(data)
        evaluated = self.model.evaluate_actions(inputs, data["action"])
        return self.objective(data, *evaluated)

    def objective(
        self, data: TensorDict, log_prob: Tensor, entropy: Tensor, value: Tensor | None
    ) -> tuple[Tensor, Logs]:
        """The loss, from what the policy now says of the minibatch, `[B]` each."""
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
        """The policy's part of the loss, and how far it has moved."""
        log_ratio = log_prob - data["log_prob"]
        ratio = log_ratio.exp()
        loss = self.policy_loss(ratio, data["advantage"])
        with torch.no_grad():
            # Schulman 2020, "Approximating KL Divergence", estimator k3.
            approx_kl = (ratio - 1 - log_ratio).mean()
            clipped = (ratio - 1).abs() > self.config.clip_coef
        return loss, {"approx_kl": approx_kl, "clip_fraction": clipped.float().mean()}

    def policy_loss(self, ratio: Tensor, advantage: Tensor) -> Tensor:
        """The surrogate with its sign turned, from advantages `[B]` as they are."""
        return -self.gain(ratio, self.normalized(advantage)).mean()

    def gain(self, ratio: Tensor, advantage: Tensor) -> Tensor:
        """The clipped surrogate, equation 7, to be maximised, `[B]`."""
        clip = self.config.clip_coef
        near = ratio.clamp(1 - clip, 1 + clip)
        return torch.minimum(ratio * advantage, near * advantage)

    def normalized(self, advantage: Tensor) -> Tensor:
        """A minibatch's advantages, centred and scaled if the config says so.

        Of several processes all of their minibatches are centred together. One alone,
        all that may be left where steps only reset, has no spread.
        """
        if not self.config.normalize_advantage or len(advantage) * ranks().count < 2:
            return advantage
        mean, std = mean_and_std(advantage)
        return (advantage - mean) / (std + 1e-8)

    def value_loss(self, value: Tensor, data: TensorDict) -> Tensor:
        """Half the squared error to the returns, clipped if the config says so."""
        error = (value - data["returns"]).square()
        clip = self.config.clip_value
        if clip is not None:
            near = data["value"] + (value - data["value"]).clamp(-clip, clip)
            error = torch.maximum(error, (near - data["returns"]).square())
        return 0.5 * error.mean()

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step on a minibatch `[B]`."""
        return self.minimize(self.loss, data, max_grad_norm=self.config.max_grad_norm)
