"""Base of rollout algorithms: values, advantages and returns, then minibatches."""

from abc import abstractmethod
from typing import Any, ClassVar

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl import abstractions
from yieldrl.abstractions import Logs, Policy
from yieldrl.buffers import Minibatches, transitions
from yieldrl.foundations import derive_seed, mean_and_std, means, ranks, spaces
from yieldrl.foundations.conversion import check_shapes
from yieldrl.functional import explained_variance, gae
from yieldrl.networks import RewardScaler, train_mode_concern
from yieldrl.on_policy.config import OnPolicyConfig
from yieldrl.on_policy.tokens import sum_executed
from yieldrl.runtime.acting_record import CHUNK


class OnPolicyAlgorithm(abstractions.Algorithm):
    """Values, advantages and returns of a rollout `[T, N]`, then passes over it.

    A subclass has the rest of the mathematics: `learn`, with a loss of minibatches.
    `reward_scaler` is None where rewards stay as they are.
    """

    config: OnPolicyConfig
    model: Policy

    takes_ratio: ClassVar[bool] = True  # the loss uses the importance ratio
    reads_next_obs: ClassVar[bool] = True  # rollouts store next_obs, to bootstrap

    def __init__(self, model: Policy, config: OnPolicyConfig) -> None:
        super().__init__(model, config)
        self.optimizer = self.make_optimizer()
        scaler = RewardScaler(config.num_envs, config.gamma).to(self.device)
        self.reward_scaler = scaler if config.normalize_reward else None

    @abstractmethod
    def make_optimizer(self) -> torch.optim.Optimizer:
        """The optimizer of `learn`'s gradient steps."""

    def advantage(
        self, rollout: TensorDict, reward: Tensor, next_value: Tensor
    ) -> Tensor:
        """Generalized advantage estimates `[T, N]`, from scaled rewards and `V(s')`.

        The rollout has the `value` and the `log_prob` of the policy that acted.
        """
        return gae(reward, rollout["value"], next_value, *self.recursion(rollout))

    def recursion(self, rollout: TensorDict) -> tuple[Any, ...]:
        """Common arguments of `gae` and `vtrace`: ends, gamma, lambda, valid steps."""
        gamma = rollout.get("discount", self.config.gamma)
        rest = gamma, self.config.gae_lambda, rollout.get("valid", None)
        return rollout["terminated"], rollout["truncated"], *rest

    def predict(self, obs: Any) -> Tensor:
        """The most likely action `[B, ...]`."""
        return self.model.predict(obs)

    def concerns(self) -> list[str]:
        """Warnings for the trainer: of a ratio that does not start at 1."""
        concerns = super().concerns()
        if self.takes_ratio and (found := train_mode_concern(self.model)):
            remedy = "Set p=0, take LayerNorm, or freeze these parts"
            later = "from the first step on a rollout on, the ratio is not 1"
            concerns.append(f"{found}: {later} and approx_kl not 0. {remedy}")
        return concerns

    def update(self, rollout: TensorDict) -> Logs:
        """Learn from a rollout `[T, N]`; the metrics are means over gradient steps."""
        rollout = rollout.to(self.device)
        minibatches, logs = self.begin(rollout)
        self.begin_update(rollout)
        steps: list[Logs] = []
        while not minibatches.exhausted:
            steps.append(self.learn_from(minibatches, self.train_step))
        return logs | means(steps)

    def begin(self, rollout: TensorDict) -> tuple[Minibatches, Logs]:
        """The minibatches of a rollout `[T, N]`, and its metrics; no statistics change.

        RuntimeError if the learning rate has been annealed to zero, ValueError if
        entries are missing or have names of other libraries.
        """
        check_shapes(rollout)
        self.anneal_before(rollout)
        with self.runtime.gathered():
            prepared = self.prepare(rollout)
        # The order of minibatches follows from the seed and the learning step.
        named = f"minibatches {self.counters.learn_step}"
        minibatches = self.passes(prepared, derive_seed(self.config.seed, named))
        return minibatches, self.rollout_logs(rollout, prepared)

    def rollout_logs(self, rollout: TensorDict, prepared: TensorDict) -> Logs:
        """Metrics of a rollout `[T, N]`: the explained variance of its returns."""
        if not self.model.has_critic:
            return {}
        known = prepared["value"], prepared["returns"], prepared.get("valid", None)
        return {"explained_variance": explained_variance(*known)}

    def passes(self, prepared: TensorDict, seed: int) -> Minibatches:
        """The minibatches of a rollout `[T, N]`: by default one, used once."""
        return Minibatches(transitions(prepared), 1, 1, seed)

    def begin_update(self, rollout: TensorDict) -> None:
        """Update statistics and `policy_version`, before the first gradient step."""
        self.counters.policy_version += 1
        with self.runtime.gathered():
            self.update_normalization(rollout)
            # Compiled in one process, not yet in another, they differ in a last digit.
            ranks().broadcast_module(self.model)

    def learn_from(self, minibatches: Minibatches, learn: Any) -> Logs:
        """Let `learn` take a gradient step on the minibatch that is due."""
        logs = learn(minibatches.minibatch())
        minibatches.advance()
        return logs

    @torch.no_grad()
    def prepare(self, rollout: TensorDict) -> TensorDict:
        """Add `value`, `advantage` and `returns` to a rollout `[T, N]`.

        Returns the entries for minibatches. No parameters or statistics change.
        """
        known = set(rollout.keys())
        if self.takes_ratio and "log_prob" not in known:
            raise ValueError(
                "the rollout holds no log_prob of its actions: let agent.complete("
                "rollout) add it, or learn from it by trainer.update(rollout)"
            )
        if "value" not in known or self.is_stale(rollout):
            inputs = self.model.inputs(rollout).flatten(0, 1)
            rollout["value"] = self.values(inputs).view(rollout.batch_size)
        rollout["advantage"] = self.advantages(rollout)
        rollout["returns"] = rollout["advantage"] + rollout["value"]
        unused = "next_obs", "reward", "terminated", "truncated", "policy_version"
        return rollout.exclude(*unused)

    def is_stale(self, rollout: TensorDict) -> bool:
        """Whether an older policy acted; then values are computed again."""
        version = rollout.get("policy_version", None)
        now = self.counters.policy_version
        return version is not None and bool((version != now).any())

    def advantages(self, rollout: TensorDict) -> Tensor:
        """Advantages `[T, N]`, from scaled rewards."""
        scaler = self.reward_scaler  # updated in `begin_update`
        reward = rollout["reward"] if scaler is None else scaler.preview(rollout)
        return self.advantage(rollout, reward, self.next_values(rollout))

    def next_values(self, rollout: TensorDict) -> Tensor:
        """`V(next_obs)`, `[T, N]`: the next row's value, where no episode was cut."""
        next_value = rollout["value"].roll(-1, dims=0)
        cut = rollout["truncated"].clone()
        cut[-1] = True
        index = cut.flatten().nonzero().squeeze(1)  # evaluate V(next_obs) there
        last = self.model.next_inputs(rollout.flatten(0, 1)[index])
        next_value.view(-1)[index] = self.values(last)
        return next_value

    def values(self, obs: Any) -> Tensor:
        """`V(s)` of observations `[B, ...]`, `[B]`; zeros without a critic."""
        if not self.model.has_critic:
            return torch.zeros(spaces.batch_size(obs), device=self.device).float()
        return torch.cat([self.model.get_value(part) for part in obs.split(CHUNK)])

    def normalized(self, advantage: Tensor) -> Tensor:
        """A minibatch's advantages, standardized over all processes if configured."""
        if not self.config.normalize_advantage or len(advantage) * ranks().count < 2:
            return advantage
        mean, std = mean_and_std(advantage)
        return (advantage - mean) / (std + 1e-8)

    def update_normalization(self, rollout: TensorDict) -> None:
        """Update running statistics; the ratio, to the old `log_prob`, covers that."""
        if self.reward_scaler is not None:
            self.reward_scaler.update(rollout)
        self.model.update_normalization(rollout)

    def forget_episodes(self) -> None:
        """Drop what is carried of the episodes before a rollout that continues none."""
        if self.reward_scaler is not None:
            self.reward_scaler.forget()

    @torch.no_grad()
    def complete(self, rollout: TensorDict) -> TensorDict:
        """Add `advantage`, `returns`, `entropy`, and missing `log_prob` and version."""
        self.prepare(rollout)
        inputs = self.model.inputs(rollout).flatten(0, 1)
        action = rollout["action"].flatten(0, 1)
        log_prob, entropy, _ = self.model.evaluate_actions(inputs, action)
        now, size = self.counters.policy_version, rollout.batch_size
        version = torch.full_like(rollout["terminated"], now, dtype=torch.int64)
        rollout.setdefault("log_prob", log_prob.unflatten(0, size))
        rollout.setdefault("policy_version", version)
        entropy = sum_executed(entropy, rollout.flatten(0, 1))
        return rollout.set("entropy", entropy.view(size))
