"""How PPO learns from a rollout: advantages once, then epochs of minibatches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import torch
from tensordict import TensorDict

from yieldrl import abstractions
from yieldrl.abstractions import Logs, Policy
from yieldrl.buffers import Passes, explained_variance, transitions
from yieldrl.foundations import derive_seed, means, ranks
from yieldrl.foundations.other_words import check_entries
from yieldrl.networks import drops_or_norms_batches

from .config import HIGHEST_RATE, LOWEST_RATE, Config


class RolloutAlgorithm(abstractions.Algorithm):
    """Takes rollouts `[T, N]` to pieces; the mathematics is the subclass's business."""

    config: Config
    model: Policy

    takes_ratio: ClassVar[bool] = True
    """Whether steps go by the ratio of a policy in train mode to the one that acted."""

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

    @abstractmethod
    def prepare(self, rollout: TensorDict) -> TensorDict:
        """What one look at the whole rollout `[T, N]` gives every minibatch of it."""

    @abstractmethod
    def update_normalization(self, rollout: TensorDict) -> None:
        """Move all running statistics, after `prepare` and before learning."""

    def update(self, rollout: TensorDict) -> Logs:
        """Learn from a rollout `[T, N]`; the metrics are means over gradient steps.

        `advantage` and `returns` are added to it. The trainer's generator does the same
        step by step: `begin`, `begin_update`, and `learn_from` until nothing is left.
        """
        rollout = rollout.to(self.device)
        passes, logs = self.begin(rollout)
        self.begin_update(rollout)
        steps: list[Logs] = []
        while not passes.exhausted:
            steps.append(self.learn_from(passes, self.train_step))
        return logs | means(steps)

    def begin(self, rollout: TensorDict) -> tuple[Passes, Logs]:
        """The passes over a rollout `[T, N]`, and what to log of it; nothing moves.

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

    def begin_update(self, rollout: TensorDict) -> None:
        """Move what moves once per rollout, before the first gradient step on it."""
        self.counters.policy_version += 1
        self.update_normalization(rollout)
        # Compiled in one process and not yet in another, they differ in a last digit.
        ranks().broadcast_module(self.model)

    def learn_from(self, passes: Passes, learn: Callable[[TensorDict], Logs]) -> Logs:
        """Let `learn` take a gradient step on the minibatch that is due."""
        logs = learn(passes.minibatch())
        passes.advance()
        limit, desired = self.config.target_kl, self.config.desired_kl
        if limit is not None and float(logs["approx_kl"]) > 1.5 * limit:
            passes.stop()
        if desired is not None:
            self.follow(float(logs["approx_kl"]), desired)
        return logs

    def follow(self, approx_kl: float, desired_kl: float) -> None:
        """Lower the learning rate after too far a move, raise it after too short a one.

        Rudin et al. 2022, "Learning to Walk in Minutes", arXiv:2109.11978, and its
        code, rsl_rl. The first minibatch of a rollout, before which nothing has moved,
        raises the rate there as here. Differs from it: `approx_kl` is estimated from
        the actions that were taken, so that any distribution will do.
        """
        if approx_kl > 2 * desired_kl:
            self.learning_rate = max(LOWEST_RATE, self.learning_rate / 1.5)
        elif approx_kl < desired_kl / 2:
            self.learning_rate = min(HIGHEST_RATE, self.learning_rate * 1.5)

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
