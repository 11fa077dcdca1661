"""The mathematics of PPO.

Schulman et al. 2017, "Proximal Policy Optimization Algorithms", arXiv:1707.06347; with
the details that Huang et al. 2022, "The 37 Implementation Details of Proximal Policy
Optimization", found to matter.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl import abstractions
from yieldrl.abstractions import Logs, Policy
from yieldrl.buffers import Passes, explained_variance, transitions
from yieldrl.foundations import derive_seed, means, spaces
from yieldrl.networks import RewardScaler

from .config import Config
from .correction import CORRECTIONS, Clip

CHUNK = 4096  # observations evaluated at a time, so that images fit into memory


class Algorithm(abstractions.Algorithm):
    """Clipped surrogate objective, with value loss and entropy bonus.

    Differs from the paper: orthogonal initialisation, normalised advantages, scaled
    rewards, Adam's epsilon 1e-5, annealed learning rate and clipped gradients, as its
    authors' code has.

    Attributes:
        correction: What is done about actions of an older policy.
        acted_since: The `policy_version` of the first action since the latest rollout;
            None before it.
    """

    config: Config
    model: Policy

    corrections: ClassVar[Mapping[str, type[Clip]]] = CORRECTIONS

    def __init__(self, model: Policy, config: Config) -> None:
        super().__init__(model, config)
        self.acted_since: int | None = None
        self.correction = self.corrections[config.correction](config)
        self.optimizer = self.make_optimizer()
        self.step = self.gradient_step(self.loss, self.optimizer, config.max_grad_norm)
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
        return self.model(obs, deterministic=True)[0]

    def update(self, rollout: TensorDict) -> Logs:
        """Learn from a rollout `[T, N]`; the metrics are means over gradient steps.

        `advantage` and `returns` are added to it. The trainer's generator does the same
        step by step: `begin`, `accept`, and `learn_from` until nothing is left.
        """
        rollout = rollout.to(self.device)
        passes, logs = self.begin(rollout)
        self.accept(rollout)
        steps: list[Logs] = []
        while not passes.exhausted:
            steps.append(self.learn_from(passes, self.train_step))
        return logs | means(steps)

    def begin(self, rollout: TensorDict) -> tuple[Passes, Logs]:
        """The passes over a rollout `[T, N]`, and what to log of it; nothing moves.

        Raises:
            RuntimeError: If `log_prob` was not written down when acting, and the
                weights that acted are not those of now.
        """
        if "log_prob" not in set(rollout.keys()):
            self._check_policy()
        config, now = self.config, self.counters
        if config.anneal_learning_rate:
            before = now.sample_step - rollout.numel()
            self.anneal(before / config.total_steps)
        prepared = self.prepare(rollout)
        # The order of minibatches follows from the seed and from how far learning is.
        seed = derive_seed(config.seed, f"minibatches {now.learn_step}")
        passes = self.passes(prepared, seed)
        if not self.model.has_critic:
            return passes, {}
        valid = prepared.get("valid", None)
        variance = explained_variance(prepared["value"], prepared["returns"], valid)
        return passes, {"explained_variance": variance}

    def passes(self, prepared: TensorDict, seed: int) -> Passes:
        """Epochs in random order over the transitions of a rollout `[T, N]`."""
        config, pieces = self.config, transitions(prepared)
        return Passes(pieces, config.num_epochs, config.num_minibatches, seed)

    def accept(self, rollout: TensorDict) -> None:
        """Move all that moves once a rollout, between `begin` and learning from it."""
        self.acted_since = None
        self.counters.policy_version += 1
        self.update_normalization(rollout)

    def learn_from(self, passes: Passes, learn: Callable[[TensorDict], Logs]) -> Logs:
        """Let `learn` take a gradient step on the minibatch that is due."""
        logs = learn(passes.minibatch())
        passes.advance()
        limit = self.config.target_kl
        if limit is not None and float(logs["approx_kl"]) > 1.5 * limit:
            passes.stop()
        return logs

    @torch.no_grad()
    def complete(self, rollout: TensorDict) -> TensorDict:
        """Add `log_prob`, `value`, `entropy`, `advantage` and `returns`, `[T, N]`."""
        self.prepare(rollout)
        inputs = self.inputs(rollout).flatten(0, 1)
        action = rollout["action"].flatten(0, 1)
        entropy = self.model.evaluate_actions(inputs, action)[1]
        return rollout.set("entropy", entropy.view(rollout.batch_size))

    @torch.no_grad()
    def prepare(self, rollout: TensorDict) -> TensorDict:
        """What one look at the whole rollout `[T, N]` gives every minibatch of it.

        Adds `log_prob`, `value`, `advantage` and `returns` to the rollout. What comes
        back has the `log_prob` that the ratio starts from, as `correction` says.
        """
        start = self.remember_policy(rollout)
        steps = rollout.copy()  # where the ratio starts is no matter of the rollout's
        if start is not None:
            steps["start"] = start
        rollout["advantage"] = self.advantages(steps)
        rollout["returns"] = rollout["advantage"] + rollout["value"]
        wanted = ("obs", "action", "value", "advantage", "returns", "valid")
        prepared = rollout.select(*wanted, strict=False)
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

        What acting wrote down stays. The rest is computed by one look at every
        observation, which is right as long as the weights are those that acted. A
        correction that starts from the policy of now has it look in any case.
        """
        known, start = set(rollout.keys()), rollout.get("log_prob", None)
        inputs = self.inputs(rollout).flatten(0, 1)
        if start is None or self.correction.starts_anew:
            chunks = zip(
                inputs.split(CHUNK),
                rollout["action"].flatten(0, 1).split(CHUNK),
                strict=True,
            )
            evaluated = [self.model.evaluate_actions(*chunk) for chunk in chunks]
            log_prob, _, value = zip(*evaluated, strict=True)
            start = torch.cat(log_prob).view(rollout.batch_size)
            if self.model.has_critic and "value" not in known:
                rollout["value"] = torch.cat(value).view(rollout.batch_size)
        if "log_prob" not in known:
            rollout["log_prob"] = start
        if "value" not in set(rollout.keys()):
            rollout["value"] = self.values(inputs).view(rollout.batch_size)
        return start

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
            return torch.zeros(spaces.batch_size(obs), device=self.device)
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

        One alone, all that may be left where steps only reset, has no spread.
        """
        if not self.config.normalize_advantage or len(advantage) < 2:
            return advantage
        return (advantage - advantage.mean()) / (advantage.std() + 1e-8)

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
        return self.step(data)

    def _check_policy(self) -> None:
        """Refuse to compute the `log_prob` of other weights than those that acted."""
        acted, now = self.acted_since, self.counters.policy_version
        if acted == now:
            return
        who = f"policy version {acted} has acted in it"
        raise RuntimeError(
            "the rollout holds no log_prob, and"
            f" {'another agent' if acted is None else who}, where the weights are"
            f" version {now}: what they say of its actions would be wrong. Set"
            " records_policy = True of the agent that acts, before it does"
        )
