"""Hyper-parameters of GRPO."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl.algorithms.behavior_cloning.cloning_config import CloningConfig
from yieldrl.core import (
    Coefficient,
    Count,
    LearningRate,
    Positive,
    UnitInterval,
)
from yieldrl.language import LanguageConfig


@dataclass(frozen=True, kw_only=True)
class Config(LanguageConfig, CloningConfig):
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
    """Id of a registered environment, such as `yieldrl/Steps-v1`. A tuned file is for
    episodes of many steps, `--config grpo/cartpole`."""

    total_steps: int = 160_000
    """Environment steps to train for, the expert's and the policy's, counted over all
    environments. The learning rate falls to zero over the policy's."""

    num_envs: int = 512
    """Number of environments stepped side by side, a multiple of `group_size`. More
    give more groups for each update, which is less noisy."""

    group_size: Annotated[int, Field(ge=2, le=2**20)] = 8
    """Environments that begin every episode together, from one state (G). More compare
    a return with a better mean, and leave less groups of as many environments."""

    num_steps: int = 1
    """Steps that every environment takes for a rollout (T), in which a group begins
    another episode only if the longest would still end. Choose at least the longest
    episode's; more leave a smaller share of steps in which members wait."""

    clone_batch_size: int = 64

    clone_steps: int | None = 250
    """Gradient steps of cloning. More begin with a policy that is right more often;
    None takes as many as `clone_epochs` does."""

    num_epochs: Annotated[int, Field(ge=1, le=10**4)] = 1
    """Passes over each rollout. More learn more from it, also of what is chance in it,
    and move the policy further from the one that acted; `clip_coef` limits that."""

    num_minibatches: Count = 4
    """Minibatches of episodes in each pass, and gradient steps. More are noisier."""

    micro_batches: Count = 1
    """Parts in which a minibatch goes through the model. More take less memory and
    more time, for the same step."""

    learning_rate: LearningRate = 1e-4
    """Learning rate of Adam after its warm-up. Too high unlearns what was cloned, or
    makes the policy collapse."""

    warmup_share: UnitInterval = 0.05
    """Share of learning after cloning over which an annealed learning rate first rises.
    Adam's first steps move every weight by the whole of it, whatever the gradient: from
    a clone that unlearns much at once. 0 begins with all of it."""

    gamma: float = 1.0
    """Discount of rewards in returns, from 0 (only the next counts) to 1 (all do)."""

    clip_coef: Positive = 0.2
    """How far the probability ratio may move from 1 before the objective stops to
    improve. Higher changes the policy more per rollout; lower is safer."""

    ratio_level: Literal["token", "step", "sequence"] = "token"
    """What the ratio is of: each `token` by itself; all tokens of a `step` together,
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
        for count, said in shares.items():
            if self.num_envs % (self.group_size * count):
                raise self.error("num_envs", remedy + said)
