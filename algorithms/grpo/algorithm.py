"""The mathematics of GRPO (Shao et al. 2024, "DeepSeekMath", arXiv:2402.03300)."""

import copy
from collections.abc import Iterator
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs, Policy
from yieldrl.algorithms import ppo
from yieldrl.buffers import EpisodeGroups, Minibatches
from yieldrl.core import mean_of_all, ranks
from yieldrl.functional import centred, group_mean
from yieldrl.on_policy import in_rows, pad_across_ranks, tokens_taken, where_taken
from yieldrl.on_policy.episode_rows import counted, evaluate_steps, log_prob_of
from yieldrl.on_policy.rollouts import evaluate_rollout

from .config import Config


class Algorithm(ppo.Algorithm):
    """PPO's clipped ratio, with the other episodes of a group in place of a critic.

    An answer is an episode, a row of `[B, T]` steps with K tokens each: one, unless the
    policy tells the log-probability of several. All of them have its advantage.

    Differs from the paper: groups of equal returns are left out of the mean.
    """

    config: Config

    reads_next_obs = False

    def __init__(self, model: Policy, config: Config) -> None:
        super().__init__(model, config)
        shared = {id(p): p for p in self.model.parameters() if not p.requires_grad}
        self.reference = None
        if config.kl_coef > 0:
            self.reference = copy.deepcopy(self.model, shared).requires_grad_(False)

    def sync_target(self) -> None:
        """Bring the reference up to the model, if there is one."""
        if self.reference is not None:
            self.reference.load_state_dict(self.model.state_dict())

    def anneal(self, fraction_done: float) -> None:
        """Let the learning rate fall linearly, from the end of demonstrations on, after
        it rose over `warmup_share`: by the end of this rollout, so never from zero."""
        config = self.config
        rollout = config.batch_size * ranks().count / config.total_steps
        done, after = map(
            config.improved_share, (fraction_done, fraction_done + rollout)
        )
        rise = min(1.0, after / config.warmup_share) if config.warmup_share else 1.0
        super().anneal(1 - (1 - done) * rise)

    def evaluate(self, inputs: Any) -> dict[str, Tensor]:
        """The `log_prob` of actions `[B, ...]`: `[B]`, or in parts `[B, L, ...]`."""
        found = self.model.evaluate_actions(inputs["obs"], inputs["action"])
        return {"log_prob": found[0]}

    @torch.no_grad()
    def prepare(self, rollout: TensorDict) -> TensorDict:
        """The episodes `[E, T]` of a rollout `[T, N]`, which gets their `advantage`.

        They are whole, and of groups that differ and were played by one policy. An
        error if that changed in a group though collecting and learning take turns.
        """
        evaluate_rollout(self, rollout)  # by the weights that acted
        groups, used = self.compared(rollout)
        if self.config.collection == "sync" and groups.mixed.any():
            remedy = "collect each rollout as a whole before you learn from it"
            raise ValueError(f"several policies acted in one group: {remedy}")
        rollout["returns"] = groups.spread(groups.returns)
        unused = "next_obs", "reward", "terminated", "truncated", "policy_version"
        steps = rollout.exclude(*unused)
        episodes = pad_across_ranks(groups.episodes(steps, used), spare=steps[0])
        if self.reference is not None and len(episodes) > 0:
            episodes["reference"] = log_prob_of(self.reference, episodes)
        return episodes

    def compared(self, rollout: TensorDict) -> tuple[EpisodeGroups, Tensor]:
        """The groups of a rollout `[T, N]`, which gets their `advantage`, and of which
        of their episodes there is to be learned, bool `[K, G]`."""
        groups = EpisodeGroups.of(rollout, self.config.group_size, self.config.gamma)
        whole = groups.whole & ~groups.mixed.unsqueeze(1)
        advantage = self.relative(groups.returns, whole)
        rollout["advantage"] = groups.spread(advantage)
        return groups, whole & (advantage != 0).any(1, keepdim=True)

    def relative(self, returns: Tensor, counted: Tensor) -> Tensor:
        """Advantages `(R - mean(R)) / std(R)` of each group, `[K, G]`, section 4.1.2.

        Episodes that are not `counted` have 0, and no part in the mean.
        """
        above = centred(returns, counted)
        return above / (group_mean(above.square(), counted).sqrt() + 1e-6)

    def rollout_logs(self, rollout: TensorDict, data: TensorDict) -> Logs:
        """Shares of complete episodes, and of groups whose returns differ."""
        groups = EpisodeGroups.of(rollout, self.config.group_size, self.config.gamma)
        differ = (groups.gathered(rollout["advantage"]) != 0).any(1)
        shares = {"whole_episodes": groups.whole, "informative_groups": differ}
        return {f"grpo/{k}": mean_of_all(x.flatten()) for k, x in shares.items()}

    def minibatches(self, data: TensorDict, seed: int) -> Minibatches:
        """Epochs in random order over episodes `[E, T]`."""
        config = self.config
        return Minibatches(data, config.num_epochs, config.num_minibatches, seed)

    def update(self, minibatches: Minibatches) -> Iterator[Logs]:
        """As PPO; a rollout's first step alone logs `sampling_gap`, for later the
        policy has moved."""
        for logs in super().update(minibatches):
            if minibatches.position > 1:
                del logs["sampling_gap"]
            yield logs

    def measured(self, data: TensorDict) -> TensorDict:
        """A minibatch `[B, T]` with the `mask [B, T, K]` of tokens that count, and what
        its parts would not know: how many `episodes`, `steps` and `tokens` do."""
        valid = data["valid"]
        steps = data[valid]
        taken = in_rows(tokens_taken(self.model, steps, steps["log_prob"]), valid)
        return counted(data, taken & data["used"].unsqueeze(2))

    def learn(self, data: TensorDict) -> Logs:
        """One gradient step on a minibatch of episodes `[B, T]`."""
        return super().learn(self.measured(data))

    def loss(
        self, data: TensorDict, evaluated: tuple[Any, ...] | None = None
    ) -> tuple[Tensor, Logs]:
        """Equation 3 with its sign turned, for episodes `[B, T]`, and what to log."""
        valid, mask, config = data["valid"], data["mask"], self.config
        steps = data[valid]
        found = evaluate_steps(self.model, steps) if evaluated is None else evaluated
        now, entropy = (in_rows(x, valid) for x in found[:2])
        log_ratio = (now - in_rows(steps["log_prob"], valid)).where(mask, 0.0)
        ratio = self.shared(log_ratio, mask).exp()
        gain = self.surrogate(ratio, data["advantage"][:, :1, None])
        policy_loss = -self.mean(gain, data)
        entropy = where_taken(entropy, mask).sum() / data["steps"].sum()
        loss = policy_loss - config.entropy_coef * entropy
        logs = {"policy_loss": policy_loss, "entropy": entropy}
        logs["approx_kl"] = self.kl(log_ratio, data)
        logs["sampling_gap"] = log_ratio.abs().sum() / data["tokens"].sum()
        outside = (ratio != self.clipped(ratio)).float()
        logs["clip_fraction"] = self.mean(outside, data)
        if self.reference is not None:
            kl = self.kl((data["reference"] - now).where(mask, 0.0), data)
            loss, logs["kl"] = loss + config.kl_coef * kl, kl
        logs = {"loss": loss, **logs, **self.model.metrics()}
        return loss, {name: metric.detach() for name, metric in logs.items()}

    def shared(self, log_ratio: Tensor, mask: Tensor) -> Tensor:
        """Logarithms of ratios `[B, T, K]`, of all tokens that share one."""
        axes = {"token": (), "step": (2,), "sequence": (1, 2)}[self.config.ratio_level]
        total = log_ratio.sum(axes, keepdim=True) if axes else log_ratio
        return total.expand_as(log_ratio)

    def surrogate(self, ratio: Tensor, advantage: Tensor) -> Tensor:
        """PPO's clipped surrogate, to be maximised, `[B, T, K]`."""
        return torch.minimum(ratio * advantage, self.clipped(ratio) * advantage)

    def clipped(self, ratio: Tensor) -> Tensor:
        """Ratios no further from 1 than the objective improves."""
        return ratio.clamp(1 - self.config.clip_coef, 1 + self.config.clip_coef)

    def kl(self, log_ratio: Tensor, data: TensorDict) -> Tensor:
        """Divergence by tokens' ratios, equation 4 (Schulman 2020, estimator k3)."""
        return self.mean(log_ratio.exp() - 1 - log_ratio, data)

    def mean(self, values: Tensor, data: TensorDict) -> Tensor:
        """The mean over the tokens of each episode, and then over episodes, 0-dim."""
        mask = data["mask"]
        own = (values * mask).sum((1, 2)) / mask.sum((1, 2)).clamp(min=1)
        return own.sum() / data["episodes"].sum()
