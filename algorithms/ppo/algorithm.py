"""The mathematics of PPO (Schulman et al. 2017, arXiv:1707.06347).

With what "The 37 Implementation Details of PPO" (Huang et al. 2022) found to matter.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl import abstractions
from yieldrl.abstractions import Logs, Policy
from yieldrl.algorithms.rollouts import (
    adapt_learning_rate,
    completed,
    evaluate_rollout,
    state_values,
)
from yieldrl.buffers import Minibatches, transitions
from yieldrl.core import derive_seed, ranks, standardized
from yieldrl.core.conversion import check_shapes
from yieldrl.core.learning_rates import anneal_before
from yieldrl.functional import clipped_surrogate, explained_variance, gae
from yieldrl.networks import RewardScaler

from .config import Config


class Algorithm(abstractions.Algorithm):
    """Clipped surrogate objective, with value loss and entropy bonus.

    Differs from the paper, as its authors' code does: orthogonal initialisation, scaled
    rewards, normalised advantages, annealed learning rate, clipped gradients, and 1e-5
    as Adam's epsilon.

    Attributes:
        reward_scaler: None where rewards stay as they are.
    """

    config: Config
    model: Policy

    takes_ratio: ClassVar[bool] = True  # the loss uses the importance ratio
    reads_next_obs: ClassVar[bool] = True  # rollouts store next_obs, to bootstrap

    def __init__(self, model: Policy, config: Config) -> None:
        super().__init__(model, config)
        self.optimizer = self.make_optimizer()
        scaler = RewardScaler(config.num_envs, config.gamma).to(self.device)
        self.reward_scaler = scaler if config.normalize_reward else None
        self.evaluated = self.runtime.function("evaluation of rollouts", self.evaluate)

    def make_optimizer(self) -> torch.optim.Optimizer:
        parameters, rate = self.model.parameters(), self.config.learning_rate
        return torch.optim.Adam(parameters, lr=rate, eps=1e-5, fused=True)

    def predict(self, obs: Any) -> Tensor:
        """The most likely action `[B, ...]`."""
        return self.model.predict(obs)

    def begin(self, rollout: TensorDict) -> tuple[Minibatches, Logs]:
        """The minibatches of a rollout `[T, N]`, to learn from, and its metrics.

        RuntimeError if the learning rate has been annealed to zero, ValueError if
        entries are missing.
        """
        check_shapes(rollout)
        anneal_before(self, rollout)
        with self.runtime.gathered():
            self.model.prepare_inputs(rollout)
            data = self.prepare(rollout)
            # The order of minibatches follows from the seed and the learning step.
            name = f"minibatches {self.counters.learn_step}"
            minibatches = self.minibatches(data, derive_seed(self.config.seed, name))
            logs = self.rollout_logs(rollout, data)
            self.counters.policy_version += 1
            self.update_normalization(rollout)  # the ratio to `log_prob` covers that
            ranks().broadcast_module(self.model)
        return minibatches, logs

    @torch.no_grad()
    def prepare(self, rollout: TensorDict) -> TensorDict:
        """Add `log_prob`, `value`, `advantage` and `returns` to a rollout `[T, N]`.

        Returns the entries for minibatches. No parameters or statistics change.
        """
        evaluate_rollout(self, rollout)  # by the weights that acted
        if rollout.get("value", None) is None or self.is_stale(rollout):
            inputs = self.model.inputs(rollout).flatten(0, 1)
            rollout["value"] = state_values(self.model, inputs).view(rollout.shape)
        rollout["advantage"] = self.advantages(rollout)
        rollout["returns"] = rollout["advantage"] + rollout["value"]
        unused = "next_obs", "reward", "terminated", "truncated", "policy_version"
        return rollout.exclude(*unused)

    def evaluate(self, inputs: Any) -> dict[str, Tensor]:
        """The `log_prob [B]` of actions, and with a critic the `value [B]`."""
        obs, action = inputs["obs"], inputs["action"]
        log_prob, _, value = self.model.evaluate_actions(obs, action)
        return {"log_prob": log_prob} | ({} if value is None else {"value": value})

    def is_stale(self, rollout: TensorDict) -> bool:
        """Whether an older policy acted; then values are computed again."""
        version, now = rollout.get("policy_version", None), self.counters.policy_version
        if version is None:
            return False
        # To look is to wait for a GPU, which computes them all in less time.
        return not version.is_cpu or bool((version != now).any())

    def next_values(self, rollout: TensorDict) -> Tensor:
        """`V(s')`, `[T, N]`: the next row's value, but where an episode was cut, and in
        the last row, that of the last observation, which is in `next_obs`."""
        next_value = rollout["value"].roll(-1, dims=0)
        cut = rollout["truncated"].clone()
        cut[-1] = True
        data = rollout.flatten(0, 1)
        if not cut.is_cpu:  # to count the rows is to wait for a GPU: it computes all
            last = state_values(self.model, self.model.next_inputs(data))
            return torch.where(cut, last.view(cut.shape), next_value)
        index = cut.flatten().nonzero().squeeze(1)
        last = self.model.next_inputs(data[index])
        next_value.view(-1)[index] = state_values(self.model, last)
        return next_value

    def advantages(self, rollout: TensorDict) -> Tensor:
        """Advantages `[T, N]`, of rewards as they will be scaled after this rollout."""
        scaler = self.reward_scaler
        reward = rollout["reward"] if scaler is None else scaler.preview(rollout)
        return self.advantage(rollout, reward, self.next_values(rollout))

    def advantage(
        self, rollout: TensorDict, reward: Tensor, next_value: Tensor
    ) -> Tensor:
        """`sum_k (gamma lambda)^k delta_{t+k}`, `[T, N]`, to where an episode ends."""
        return gae(reward, rollout["value"], next_value, *self.recursion(rollout))

    def recursion(self, rollout: TensorDict) -> tuple[Any, ...]:
        """Ends, discount, lambda and valid steps, as `gae` and `vtrace` take them."""
        gamma = rollout.get("discount", self.config.gamma)
        rest = gamma, self.config.gae_lambda, rollout.get("valid", None)
        return rollout["terminated"], rollout["truncated"], *rest

    def minibatches(self, data: TensorDict, seed: int) -> Minibatches:
        """Epochs in random order over the transitions of a rollout `[T, N]`."""
        sizes = self.config.num_epochs, self.config.num_minibatches
        return Minibatches(transitions(data), *sizes, seed)

    def update(self, minibatches: Minibatches) -> Iterator[Logs]:
        """Take the gradient steps of a rollout that are left, yielding their metrics.

        `minibatches`, from `begin`, know how far they were used: break, and another
        `update` goes on from there.
        """
        config = self.config
        while not minibatches.exhausted:
            with self.learning():
                logs = self.learn(minibatches.minibatch())
            minibatches.advance()
            limit, desired = config.target_kl, config.desired_kl
            if limit is not None and float(logs["approx_kl"]) > 1.5 * limit:
                minibatches.stop()  # the policy has moved far enough
            if desired is not None:
                adapt_learning_rate(self, float(logs["approx_kl"]), desired)
            yield logs

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step on a minibatch `[B]`."""
        return self.minimize(self.loss, data, max_grad_norm=self.config.max_grad_norm)

    def loss(
        self, data: TensorDict, evaluated: tuple[Any, ...] | None = None
    ) -> tuple[Tensor, Logs]:
        """The loss of a minibatch `[B]`, and metrics.

        `evaluated` is what `evaluate_actions` says of it, if that is known already.
        """
        config, model = self.config, self.model
        if evaluated is None:
            evaluated = model.evaluate_actions(model.inputs(data), data["action"])
        log_prob, entropy, value = evaluated  # [B], [B], [B] or None

        log_ratio = log_prob - data["log_prob"]  # [B], of the policy to the one before
        ratio = log_ratio.exp()
        advantage = self.normalized(data["advantage"])  # [B]
        policy_loss = -self.surrogate(ratio, advantage).mean()
        entropy = entropy.mean()
        loss = policy_loss - config.entropy_coef * entropy
        logs = {"policy_loss": policy_loss, "entropy": entropy}
        if value is not None:
            value_loss = logs["value_loss"] = self.value_loss(value, data)
            loss = loss + config.value_coef * value_loss
        with torch.no_grad():
            logs["approx_kl"] = (ratio - 1 - log_ratio).mean()  # Schulman 2020, k3
            clipped = (ratio - 1).abs() > config.clip_coef
            logs["clip_fraction"] = clipped.float().mean()
        logs = {"loss": loss, **logs, **model.metrics()}
        return loss, {name: metric.detach() for name, metric in logs.items()}

    def surrogate(self, ratio: Tensor, advantage: Tensor) -> Tensor:
        """The clipped objective `[B]`, to be maximised; equation 7."""
        return clipped_surrogate(ratio, advantage, self.config.clip_coef)

    def value_loss(self, value: Tensor, data: TensorDict) -> Tensor:
        """Half the squared error to the returns, clipped if the config says so."""
        error = (value - data["returns"]).square()
        clip = self.config.clip_value
        if clip is not None:
            clipped = data["value"] + (value - data["value"]).clamp(-clip, clip)
            error = torch.maximum(error, (clipped - data["returns"]).square())
        return 0.5 * error.mean()

    def normalized(self, advantage: Tensor) -> Tensor:
        """A minibatch's advantages, standardized if the config says so."""
        return standardized(advantage) if self.config.normalize_advantage else advantage

    def rollout_logs(self, rollout: TensorDict, data: TensorDict) -> Logs:
        """Metrics of a rollout `[T, N]`: the explained variance of its returns."""
        if not self.model.has_critic:
            return {}
        parts = data["value"], data["returns"], data.get("valid", None)
        return {"explained_variance": explained_variance(*parts)}

    def update_normalization(self, rollout: TensorDict) -> None:
        """Update running statistics; the ratio, to the old `log_prob`, covers that."""
        if self.reward_scaler is not None:
            self.reward_scaler.update(rollout)
        self.model.update_normalization(rollout)

    def forget_episodes(self) -> None:
        """Drop what is carried of the episodes before a rollout that continues none."""
        if self.reward_scaler is not None:
            self.reward_scaler.forget()

    def complete(self, rollout: TensorDict) -> TensorDict:
        """Add `advantage`, `returns`, `entropy`, and missing `log_prob` and version."""
        return completed(self, rollout)
