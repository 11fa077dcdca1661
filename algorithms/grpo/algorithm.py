"""The mathematics of GRPO (Shao et al. 2024, "DeepSeekMath", arXiv:2402.03300)."""

import copy
import warnings
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from typing import Annotated, Any, ClassVar, Literal

import torch
from gymnasium.vector import VectorEnv
from pydantic import Field
from pydantic.dataclasses import dataclass
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import LogData, Logs, Policy
from yieldrl.algorithms import ppo
from yieldrl.algorithms.behavior_cloning import cloned_first
from yieldrl.algorithms.episode_rows import (
    counted,
    evaluate_steps,
    log_prob_of,
    pad_across_ranks,
)
from yieldrl.algorithms.ppo.model import Actor
from yieldrl.algorithms.rollouts import evaluate_rollout
from yieldrl.algorithms.tokens import in_rows, steps_of, tokens_taken, where_taken
from yieldrl.buffers import EpisodeGroups, Minibatches
from yieldrl.core import Coefficient, Count, UnitInterval, mean_of_all, ranks
from yieldrl.envs.wrappers import GroupStarts
from yieldrl.functional import centred, group_mean
from yieldrl.language import LanguageConfig, writer_or


@dataclass(frozen=True, kw_only=True)
class Config(LanguageConfig, cloned_first.CloningConfig):
    """Group relative policy optimization; the defaults let a small transformer write
    sums: it clones an expert until it is right now and then, and goes on by itself."""

    uncompiled: ClassVar[str | None] = "episodes of every rollout have other lengths"
    critic_obs: ClassVar[tuple[str, ...]] = ()  # there is no critic
    report_every: ClassVar[Any] = property(lambda self: min(128, self.num_steps))
    clip_value: ClassVar[None] = None
    target_kl: ClassVar[None] = None
    desired_kl: ClassVar[None] = None
    gae_lambda: ClassVar[float] = 1.0
    value_coef: ClassVar[float] = 0.0
    normalize_advantage: ClassVar[bool] = False  # done per group
    normalize_reward: ClassVar[bool] = False

    env_id: str = "yieldrl/Sums-v1"
    """Id of a registered environment. A tuned file is for episodes of many steps,
    `--config grpo/cartpole`."""

    total_steps: int = 160_000

    num_envs: int = 512
    """Number of environments stepped side by side, a multiple of `group_size`. More
    groups make each update less noisy."""

    group_size: Annotated[int, Field(ge=2, le=2**20)] = 8
    """Environments that begin every episode together, from one state (G). More compare
    a return with a better mean, and leave less groups of as many environments."""

    num_steps: int = 1
    """Steps that every environment takes for a rollout (T), in which a group begins
    another episode only if the longest would still end. Choose at least the longest
    episode's; more leave a smaller share of steps in which members wait."""

    clone_batch_size: int = 64
    clone_steps: int | None = 250

    num_epochs: int = 1
    """Passes over each rollout. More learn more from it, also of what is chance in it,
    and move the policy further from the one that acted; `clip_coef` limits that."""

    num_minibatches: Count = 4
    """Minibatches of episodes in each pass, and gradient steps. More are noisier."""

    micro_batches: Count = 1
    """Parts in which a minibatch goes through the model. More take less memory and
    more time, for the same step."""

    learning_rate: float = 1e-4
    """Learning rate of Adam after its warm-up. Too high unlearns what was cloned, or
    makes the policy collapse."""

    warmup_share: UnitInterval = 0.05
    """Share of learning after cloning over which an annealed learning rate first rises.
    Adam's first steps move every weight by the whole of it, whatever the gradient: from
    a clone that unlearns much at once. 0 begins with all of it."""

    gamma: float = 1.0

    ratio_level: Literal["token", "step", "sequence"] = "token"
    """Unit of the probability ratio: each `token` by itself; all tokens of a `step`,
    that is an action; or the whole episode, as a `sequence`. They differ where a policy
    tells the log-probability of every token, and where episodes have several steps."""

    kl_coef: Coefficient = 0.0
    """Weight of the divergence from a frozen copy of the policy at the start (of
    `sync_target`). Higher keeps what it knew then; 0 does without the copy."""

    entropy_coef: float = 0.0

    eval_episodes: int = 512
    """Episodes of each evaluation. Answers are right or wrong, and of 512 a share of
    0.9 has a standard error of 0.013. More make it less noisy and take longer."""

    def __post_init__(self) -> None:
        super().__post_init__()
        remedy = f"a group would not be whole: choose a multiple of {self.group_size}"
        shares = {1: " = group_size"}
        if self.collection == "ray":
            shares |= {self.rollout_workers: " for each of rollout_workers"}
            shares |= {max(1, self.learners): " for each of learners"}
        for count, factor in shares.items():
            if self.num_envs % (self.group_size * count):
                raise self.error("num_envs", remedy + factor)


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
        self._compared: tuple[Any, ...] | None = None  # a rollout, groups, which used
        if config.kl_coef > 0:
            self.reference = copy.deepcopy(self.model, shared).requires_grad_(False)

    def sync_target(self) -> None:
        """Bring the reference up to the model, if there is one."""
        if self.reference is not None:
            self.reference.load_state_dict(self.model.state_dict())

    def anneal(self, fraction_done: float) -> None:
        """Let the learning rate fall linearly, from the end of demonstrations on, after
        it rose over `warmup_share`: by the end of this rollout, so never from zero."""
        config, share = self.config, self.config.improved_share
        rollout = config.batch_size * ranks().count / config.total_steps
        done, after = share(fraction_done), share(fraction_done + rollout)
        rise = min(1.0, after / config.warmup_share) if config.warmup_share else 1.0
        super().anneal(1 - (1 - done) * rise)

    @torch.no_grad()
    def prepare(self, rollout: TensorDict) -> TensorDict:
        """The episodes `[E, T]` of a rollout `[T, N]`, which gets their `advantage`.

        They are whole, and of groups that differ and were played by one policy; their
        share of all such groups' is `informative`. An error if the policy changed in a
        group though collecting and learning take turns.
        """
        evaluate_rollout(self, rollout)  # by the weights that acted
        groups, used = self.compared(rollout)
        if self.config.collection == "sync" and groups.mixed.any():
            remedy = "collect each rollout as a whole before you learn from it"
            raise ValueError(f"several policies acted in one group: {remedy}")
        rollout["returns"] = groups.spread(groups.returns)
        unused = "next_obs", "reward", "terminated", "truncated", "policy_version"
        steps = rollout.exclude(*unused, "value")
        episodes = pad_across_ranks(groups.episodes(steps, used), spare=steps[0])
        of_whole = mean_of_all(used[groups.whole & ~groups.mixed.unsqueeze(1)])
        of_whole = of_whole.to(episodes["valid"].device, non_blocking=True)
        episodes["informative"] = of_whole.expand(episodes.shape)
        if self.reference is not None and len(episodes) > 0:
            episodes["reference"] = log_prob_of(self.reference, episodes)
        return episodes

    def compared(self, rollout: TensorDict) -> tuple[EpisodeGroups, Tensor]:
        """The groups of a rollout `[T, N]`, which gets their `advantage`, and of which
        of their episodes there is to be learned, bool `[K, G]`.

        Until `rollout_logs` it is remembered: a GPU is waited for once a rollout.
        """
        if self._compared is None or self._compared[0] is not rollout:
            sizes = self.config.group_size, self.config.gamma
            groups = EpisodeGroups.of(rollout, *sizes)
            whole = groups.whole & ~groups.mixed.unsqueeze(1)
            advantage = self.relative(groups.returns, whole)
            rollout["advantage"] = groups.spread(advantage)
            used = whole & (advantage != 0).any(1, keepdim=True)
            self._compared = rollout, groups, used
        return self._compared[1:]

    def relative(self, returns: Tensor, counted: Tensor) -> Tensor:
        """Advantages `(R - mean(R)) / std(R)` of each group, `[K, G]`, section 4.1.2.

        `std` divides by `G`; TRL's and verl's by `G - 1`, and so advantages are smaller
        there by `sqrt(1 - 1 / G)`. Episodes that are not `counted` have 0, and no part.
        """
        above = centred(returns, counted)
        return above / (group_mean(above.square(), counted).sqrt() + 1e-6)

    def rollout_logs(self, rollout: TensorDict, data: TensorDict) -> Logs:
        """Shares of complete episodes, and of groups whose returns differ."""
        groups, used = self.compared(rollout)
        self._compared = None
        shares = {"whole_episodes": groups.whole, "informative_groups": used.any(1)}
        return {f"grpo/{k}": mean_of_all(x.flatten()) for k, x in shares.items()}

    def minibatches(self, data: TensorDict, seed: int) -> Minibatches:
        """Epochs in random order over episodes `[E, T]`."""
        sizes = self.config.num_epochs, self.config.num_minibatches
        return Minibatches(data, *sizes, seed)

    def update(self, minibatches: Minibatches) -> Iterator[Logs]:
        """Take PPO's steps; a rollout's first one alone logs `sampling_gap`, because
        later the policy has moved."""
        for logs in super().update(minibatches):
            if minibatches.position > 1:
                del logs["sampling_gap"]
            yield logs

    def measured(self, data: TensorDict) -> TensorDict:
        """A minibatch `[B, T]` with the `mask [B, T, K]` of tokens that count, and what
        its parts would not know: how many `episodes`, `steps` and `tokens` do."""
        valid, steps = data["valid"], steps_of(data)
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
        steps = steps_of(data)
        if evaluated is None:
            evaluated = evaluate_steps(self.model, steps)
        now, entropy = (in_rows(x, valid) for x in evaluated[:2])
        log_ratio = (now - in_rows(steps["log_prob"], valid)).where(mask, 0.0)
        ratio = self.shared(log_ratio, mask).exp()
        objective = self.surrogate(ratio, data["advantage"][:, :1, None])
        policy_loss = self.policy_loss(objective, data)
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

    def policy_loss(self, objective: Tensor, data: TensorDict) -> Tensor:
        """Minus the mean objective `[B, T, K]` of informative groups, 0-dim."""
        return -self.mean(objective, data)

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
        means = (values * mask).sum((1, 2)) / mask.sum((1, 2)).clamp(min=1)
        return means.sum() / data["episodes"].sum()


class Trainer(ppo.Trainer):
    """Let groups play from equal starts, compare their returns, learn, forget, again.

    >>> fields = {"num_envs": 64, "env_kwargs": {"max_operand": 1}}
    >>> fields |= {"demonstration_steps": 64, "clone_steps": 20}
    >>> fields |= {"clone_warmup_steps": 0, "clone_learning_rate": 0.01}
    >>> trainer = Trainer(Config(total_steps=128, d_model=32, eval_every=0, **fields))
    >>> phases = [log["logs"]["phase"] for log in trainer()]
    >>> phases[0], phases[-1], trainer.agent.sample_step
    (0.0, 1.0, 128)
    """

    config: Config
    config_class = Config
    model_class = staticmethod(writer_or(Actor))
    policy_class = Policy
    algorithm_class = Algorithm
    informative_log = "grpo/informative_groups"

    def __init__(self, config: Any = None, **parts: Any) -> None:
        super().__init__(config, **parts)
        self.cloning = cloned_first.make_cloning(self)
        self.informative: Any = 0.0  # the sum of `informative_log` over all rollouts

    def __call__(self) -> Generator[LogData, None, None]:
        """Clone demonstrations first, if there are any; then train.

        In the end a warning if there was never anything to learn from.
        """
        with closing(cloned_first.clone_first(self, super().__call__)) as logs:
            for log in logs:
                share = log["logs"].get(self.informative_log, 0.0)
                self.informative = self.informative + share
                yield log
        if not self.informative:
            warnings.warn(
                f"{self.run.name}: in no group did the returns of episodes differ, so"
                " nothing was learned from them. Begin with a policy that sometimes"
                " succeeds (more demonstration_steps, clone_steps), an easier task, or"
                " a larger group_size",
                stacklevel=2,
            )

    def update(self, rollout: TensorDict) -> Logs:
        cloned_first.check_cloned(self)
        return super().update(rollout)

    def state_dict(self) -> dict[str, Any]:
        parts = {"cloning": cloned_first.cloning_state(self)}
        return {**super().state_dict(), **parts, "informative": float(self.informative)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        cloned_first.load_state(self, state, super().load_state_dict)
        self.informative = state["informative"]

    def wrap_envs(self, envs: VectorEnv, training: bool) -> VectorEnv:
        """Let groups of environments begin together, once a rollout or oftener."""
        if not training:
            return envs
        steps = self.config.num_steps
        groups = GroupStarts(envs, self.config.group_size, steps)
        if groups.horizon is not None and groups.horizon > steps:
            cut = f"num_steps = {steps}: episodes that take more teach nothing"
            warnings.warn(f"{cut}, and may take {groups.horizon}", stacklevel=2)
        return groups
