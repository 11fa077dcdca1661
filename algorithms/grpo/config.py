"""Hyper-parameters of GRPO."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from yieldrl.foundations import Coefficient, Count, LearningRate, Positive, Range
from yieldrl.on_policy import OnPolicyConfig


@dataclass(frozen=True, kw_only=True)
class Config(OnPolicyConfig):
    """Group relative policy optimization; the defaults learn CartPole-v1 in 100 000
    steps."""

    uncompiled: ClassVar[str | None] = "episodes of every rollout have other lengths"
    critic_obs: ClassVar[tuple[str, ...]] = ()  # there is no critic
    gae_lambda: ClassVar[float] = 1.0
    value_coef: ClassVar[float] = 0.0
    normalize_advantage: ClassVar[bool] = False  # a group does
    normalize_reward: ClassVar[bool] = False

    num_envs: int = 8
    """Number of environments stepped side by side, a multiple of `group_size`. More
    give more groups for each update, which is less noisy."""

    group_size: Annotated[int, Range(2, 2**20)] = 8
    """Environments that begin every episode together, from one state (G). More compare
    a return with a better mean, and leave less groups of as many environments."""

    num_steps: int = 750
    """Steps that every environment takes for a rollout (T), in which a group begins
    another episode only if the longest would still end. Choose at least the longest
    episode's; more leave a smaller share of steps in which members wait."""

    num_epochs: Annotated[int, Range(1, 10**4)] = 4
    """Passes over each rollout. More learn more from it and move the policy further
    from the one that acted; `clip_coef` limits that."""

    num_minibatches: Count = 4
    """Minibatches of episodes in each pass, and gradient steps. More are noisier."""

    learning_rate: LearningRate = 1e-3
    """Learning rate of Adam at the start. Too high makes the policy collapse."""

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
    """Weight of the policy's entropy in the objective. Higher keeps the policy more
    random and exploring for longer; 0 leaves it to the rewards."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_envs % self.group_size:
            remedy = f"choose a multiple of group_size = {self.group_size}"
            raise self.error("num_envs", f"a group would not be whole: {remedy}")
