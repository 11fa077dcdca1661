"""What learning from a rollout asks of all of it, before the first gradient step."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl import abstractions
from yieldrl.abstractions import Logs, Policy
from yieldrl.buffers import Minibatches, explained_variance, gae, transitions
from yieldrl.foundations import derive_seed, mean_and_std, means, ranks, spaces
from yieldrl.foundations.foreign_names import check_entries
from yieldrl.networks import RewardScaler, drops_or_norms_batches
from yieldrl.on_policy.config import OnPolicyConfig
from yieldrl.runtime.acting_record import CHUNK

UNUSED = "next_obs", "reward", "terminated", "truncated", "policy_version"
"""Entries of a rollout that minibatches do without."""

NO_LOG_PROB = (
    "the rollout holds no log_prob of its actions: let agent.complete(rollout) add it,"
    " or learn from it by trainer.update(rollout)"
)


class OnPolicyAlgorithm(abstractions.Algorithm):
    """Values, advantages and returns of a rollout `[T, N]`, then passes over it.

    A subclass has the rest of the mathematics: `learn`, with a loss of minibatches.

    Attributes:
        reward_scaler: Divides rewards by the standard deviation of returns; None where
            they stay as they are.
    """

    config: OnPolicyConfig
    model: Policy

    takes_ratio: ClassVar[bool] = True
    """Whether steps go by the ratio of a policy in train mode to the one that acted."""

    def __init__(self, model: Policy, config: OnPolicyConfig) -> None:
        super().__init__(model, config)
        self.optimizer = self.make_optimizer()
        scaled = config.normalize_reward
        scaler = RewardScaler(config.num_envs, config.gamma) if scaled else None
        self.reward_scaler = None if scaler is None else scaler.to(self.device)

    @abstractmethod
    def make_optimizer(self) -> torch.optim.Optimizer:
        """What takes the gradient steps."""

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

    def predict(self, obs: Any) -> Tensor:
        """The most likely action `[B, ...]`."""
        return self.model.predict(obs)

    def concerns(self) -> list[str]:
        """What a trainer warns of: a ratio that is not 1 before anything has moved."""
        parts = drops_or_norms_batches(self.model) if self.takes_ratio else {}
        if not parts:
            return super().concerns()
        kinds = " and ".join(sorted(set(parts.values())))
        first, more = next(iter(parts)), len(parts) - 1
        names = f"{first} and {more} more" if more else first
        return [
            *super().concerns(),
            f"{type(self.model).__name__} has {kinds} ({names}), which compute"
            " something else in train mode, where it learns, than when acting: from the"
            " first step on a rollout on, the ratio is not 1 and approx_kl not 0. Set"
            " p=0, take LayerNorm, or freeze these parts",
        ]

    def update(self, rollout: TensorDict) -> Logs:
        """Learn from a rollout `[T, N]`; the metrics are means over gradient steps.

        `advantage` and `returns` are added to it. The trainer's generator does the same
        step by step: `begin`, `begin_update`, and `learn_from` until nothing is left.
        """
        rollout = rollout.to(self.device)
        minibatches, logs = self.begin(rollout)
        self.begin_update(rollout)
        steps: list[Logs] = []
        while not minibatches.exhausted:
            steps.append(self.learn_from(minibatches, self.train_step))
        return logs | means(steps)

    def begin(self, rollout: TensorDict) -> tuple[Minibatches, Logs]:
        """The minibatches of a rollout `[T, N]`, and what to log of it; nothing moves.

        Raises:
            RuntimeError: If the learning rate has been annealed to zero.
            ValueError: If it has no `log_prob`, or if its entries have names of other
                libraries.
        """
        check_entries(set(rollout.keys()))
        config, now = self.config, self.counters
        self.anneal_before(rollout)
        prepared = self.prepare(rollout)
        # The order of minibatches follows from the seed and from how far learning is.
        seed = derive_seed(config.seed, f"minibatches {now.learn_step}")
        minibatches = self.passes(prepared, seed)
        if not self.model.has_critic:
            return minibatches, {}
        valid = prepared.get("valid", None)
        variance = explained_variance(prepared["value"], prepared["returns"], valid)
        return minibatches, {"explained_variance": variance}

    def passes(self, prepared: TensorDict, seed: int) -> Minibatches:
        """How often and in which parts a rollout `[T, N]` is learned from: once."""
        return Minibatches(transitions(prepared), 1, 1, seed)

    def begin_update(self, rollout: TensorDict) -> None:
        """Move what moves once per rollout, before the first gradient step on it."""
        self.counters.policy_version += 1
        self.update_normalization(rollout)
        # Compiled in one process and not yet in another, they differ in a last digit.
        ranks().broadcast_module(self.model)

    def learn_from(self, minibatches: Minibatches, learn: Any) -> Logs:
        """Let `learn` take a gradient step on the minibatch that is due."""
        logs = learn(minibatches.minibatch())
        minibatches.advance()
        return logs

    @torch.no_grad()
    def prepare(self, rollout: TensorDict) -> TensorDict:
        """Compute advantages and returns, once per rollout `[T, N]`; nothing moves.

        `value`, `advantage` and `returns` are added to it. What comes back is what
        minibatches are cut from.

        Raises:
            ValueError: If it has no `log_prob`.
        """
        known = set(rollout.keys())
        if self.takes_ratio and "log_prob" not in known:
            raise ValueError(NO_LOG_PROB)
        if "value" not in known or self.is_stale(rollout):
            inputs = self.model.inputs(rollout).flatten(0, 1)
            rollout["value"] = self.values(inputs).view(rollout.batch_size)
        rollout["advantage"] = self.advantages(rollout)
        rollout["returns"] = rollout["advantage"] + rollout["value"]
        return rollout.exclude(*UNUSED)

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

    def normalized(self, advantage: Tensor) -> Tensor:
        """A minibatch's advantages, centred and scaled if the config says so.

        Of several processes all of their minibatches are centred together. One alone,
        all that may be left where steps only reset, has no spread.
        """
        if not self.config.normalize_advantage or len(advantage) * ranks().count < 2:
            return advantage
        mean, std = mean_and_std(advantage)
        return (advantage - mean) / (std + 1e-8)

    def update_normalization(self, rollout: TensorDict) -> None:
        """Move all running statistics, after `prepare` and before learning.

        A ratio accounts for the observations' move.
        """
        if self.reward_scaler is not None:
            self.reward_scaler.update(rollout)
        self.model.update_normalization(rollout)

    def forget_episodes(self) -> None:
        """Drop what is carried of the episodes before a rollout that continues none."""
        if self.reward_scaler is not None:
            self.reward_scaler.forget()

    @torch.no_grad()
    def complete(self, rollout: TensorDict) -> TensorDict:
        """Add `advantage`, `returns` and `entropy` to an annotated rollout `[T, N]`.

        And, where it lacks them, `log_prob` and the `policy_version` of now.
        """
        self.prepare(rollout)
        inputs = self.model.inputs(rollout).flatten(0, 1)
        action = rollout["action"].flatten(0, 1)
        log_prob, entropy, _ = self.model.evaluate_actions(inputs, action)
        version = torch.full_like(rollout["terminated"], 0, dtype=torch.int64)
        known = {
            "log_prob": log_prob.unflatten(0, rollout.batch_size),
            "policy_version": version.fill_(self.counters.policy_version),
        }
        for name in known.keys() - set(rollout.keys()):
            rollout[name] = known[name]
        return rollout.set("entropy", entropy.view(rollout.batch_size))
