"""The mathematics of PPO.

Schulman et al. 2017, "Proximal Policy Optimization Algorithms", arXiv:1707.06347; with
the details that Huang et al. 2022, "The 37 Implementation Details of Proximal Policy
Optimization", found to matter.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs, Policy
from yieldrl.foundations import mean_and_std, ranks, spaces
from yieldrl.networks import RewardScaler
from yieldrl.runtime import in_precision
from yieldrl.speed import CompiledCall

from .config import Config
from .correction import CORRECTIONS, Clip
from .update import RolloutAlgorithm

CHUNK = 4096  # observations evaluated at a time, so that images fit into memory


class Algorithm(RolloutAlgorithm):
    """Clipped surrogate objective, with value loss and entropy bonus.

    Differs from the paper: orthogonal initialisation, normalised advantages, scaled
    rewards, Adam's epsilon 1e-5, annealed learning rate and clipped gradients, as its
    authors' code has.

    Attributes:
        correction: What is done about actions of an older policy.
    """

    config: Config
    model: Policy

    corrections: ClassVar[Mapping[str, type[Clip]]] = CORRECTIONS

    learned_from: ClassVar[tuple[str, ...]] = (
        "obs",
        "action",
        "value",
        "advantage",
        "returns",
        "valid",
    )
    """What minibatches hold of a rollout, besides the `log_prob` of the ratio."""

    def __init__(self, model: Policy, config: Config) -> None:
        super().__init__(model, config)
        self.correction = self.corrections[config.correction](config)
        self.optimizer = self.make_optimizer()
        look = in_precision(config.precision, self.device, self.look)
        self.looking = CompiledCall("evaluation of rollouts", look, self.plan)
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
        """What one look at the whole rollout `[T, N]` gives every minibatch of it.

        Adds `log_prob`, `value`, `advantage` and `returns` to the rollout. What comes
        back has the `log_prob` that the ratio starts from, as `correction` says.
        """
        start, steps = self.remember_policy(rollout), rollout
        if start is not None and self.correction.starts_anew:
            steps = rollout.copy().set("start", start)  # no matter of the rollout's
        rollout["advantage"] = self.advantages(steps)
        rollout["returns"] = rollout["advantage"] + rollout["value"]
        prepared = rollout.select(*self.learned_from, strict=False)
        return prepared if start is None else prepared.set("log_prob", start)

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

    def inputs(self, data: TensorDict) -> Any:
        """What the policy goes by, of a rollout or a minibatch: its observations."""
        return data["obs"]

    def last_inputs(self, rollout: TensorDict, index: Tensor) -> Any:
        """What it goes by after the transitions at flat positions `[K]`."""
        return rollout["next_obs"].flatten(0, 1)[index]

    def remember_policy(self, rollout: TensorDict) -> Tensor | None:
        """Add `log_prob` and `value`, `[T, N]`; return what the ratio starts from.

        A policy whose actions are many choices may give a `log_prob` for each,
        `[T, N, ...]`.

        What acting wrote down stays. The rest is computed by one look at every
        observation, which is right as long as the weights are those that acted. A
        correction that starts from the policy of now has it look in any case.

        Where other weights acted than those of now, all values are those of the critic
        of now, which also says those after the last transitions.
        """
        known, start = set(rollout.keys()), rollout.get("log_prob", None)
        if "policy_version" in known and not self.acted_now(rollout):
            known.discard("value")
        inputs = self.inputs(rollout).flatten(0, 1)
        if start is None or self.correction.starts_anew:
            chunks = zip(
                inputs.split(CHUNK),
                rollout["action"].flatten(0, 1).split(CHUNK),
                strict=True,
            )
            nothing = torch.Generator()  # is drawn
            looks = [
                self.looking({"obs": obs, "action": action}, nothing)
                for obs, action in chunks
            ]
            log_prob = torch.cat([look["log_prob"] for look in looks])
            start = log_prob.unflatten(0, rollout.batch_size)
            if self.model.has_critic and "value" not in known:
                value = torch.cat([look["value"] for look in looks])
                rollout["value"] = value.view(rollout.batch_size)
                known.add("value")
        if "log_prob" not in known:
            rollout["log_prob"] = start
        if "value" not in known:
            rollout["value"] = self.values(inputs).view(rollout.batch_size)
        return start

    def acted_now(self, rollout: TensorDict) -> bool:
        """Whether the weights that acted are known to be those of now."""
        version = rollout.get("policy_version", None)
        now = self.counters.policy_version
        return version is not None and bool((version == now).all())

    def look(self, inputs: Any, generator: torch.Generator) -> dict[str, Any]:
        """What the policy now says of actions `[B, ...]`, as a function of tensors."""
        evaluated = self.model.evaluate_actions(inputs["obs"], inputs["action"])
        log_prob, _, value = evaluated
        known = {"log_prob": log_prob, "value": value}
        return {name: found for name, found in known.items() if found is not None}

    def advantages(self, rollout: TensorDict) -> Tensor:
        """Advantages `[T, N]`, from scaled rewards, as `correction` estimates them.

        The critic regresses to `advantage + value`.
        """
        reward, scaler = rollout["reward"], self.reward_scaler
        next_value = self.next_values(rollout)
        if scaler is not None:
            # As it will be: it moves for good only when the rollout is prepared.
            scaler = copy.deepcopy(scaler)
            scaler.update(rollout)
            reward = scaler(reward)
        return self.correction.advantages(rollout, reward, next_value)

    def next_values(self, rollout: TensorDict) -> Tensor:
        """`V(next_obs)`, `[T, N]`.

        Within an episode that is the value of the following row. Only where the data
        or an episode were cut must the critic look at the last observation itself.
        """
        next_value = rollout["value"].roll(-1, dims=0)
        cut = rollout["truncated"].clone()
        cut[-1] = True
        index = cut.flatten().nonzero().squeeze(1)
        next_value.view(-1)[index] = self.values(self.last_inputs(rollout, index))
        return next_value

    def values(self, obs: Any) -> Tensor:
        """`V(s)` of observations `[B, ...]`, `[B]`; zeros without a critic."""
        if not self.model.has_critic:
            like = {"dtype": torch.float32, "device": self.device}
            return torch.zeros(spaces.batch_size(obs), **like)
        return torch.cat([self.model.get_value(part) for part in obs.split(CHUNK)])

    def loss(self, data: TensorDict) -> tuple[Tensor, Logs]:
        """The objective to minimise on a minibatch `[B]`, and what to log of it."""
        evaluated = self.model.evaluate_actions(self.inputs(data), data["action"])
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
        """The surrogate of `correction`, PPO's clipped one, with its sign turned."""
        advantage = self.normalized(advantage)
        return -self.correction.surrogate(ratio, advantage).mean()

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
