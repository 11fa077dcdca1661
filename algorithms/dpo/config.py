"""Hyper-parameters of DPO."""

from dataclasses import field
from typing import Annotated, Any, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl.algorithms.behavior_cloning.cloning_config import CloningConfig
from yieldrl.core import (
    BatchSize,
    LearningRate,
    Positive,
    Steps,
    StepsOrZero,
)


@dataclass(frozen=True, kw_only=True)
class Config(CloningConfig):
    """Direct preference optimization; the defaults clone an expert of sums for a
    moment, and learn from pairs of the clone's own answers in a minute."""

    uncompiled: ClassVar[str | None] = "episodes of every rollout have other lengths"
    critic_obs: ClassVar[tuple[str, ...]] = ()  # there is no critic
    num_minibatches: ClassVar[int] = 1  # `pairs_per_step` says
    clip_coef: ClassVar[float] = 0.0
    clip_value: ClassVar[None] = None
    target_kl: ClassVar[None] = None
    desired_kl: ClassVar[None] = None
    gae_lambda: ClassVar[float] = 1.0
    value_coef: ClassVar[float] = 0.0
    entropy_coef: ClassVar[float] = 0.0
    normalize_advantage: ClassVar[bool] = False
    normalize_reward: ClassVar[bool] = False
    anneal_learning_rate: ClassVar[bool] = False  # there is only one rollout

    env_id: str = "yieldrl/Sums-v1"
    """Id of a registered environment, in which episodes can begin in pairs."""

    eval_episodes: int = 512
    """Episodes of each evaluation. Answers are right or wrong: of 512 a share of 0.9
    has a standard error of 0.013. More make it less noisy and take longer."""

    env_kwargs: dict[str, Any] = field(default_factory=lambda: {"max_operand": 9})
    """Keyword arguments for the environment's constructor. Sums end at 9 + 9 here, not
    at 19 + 19 as elsewhere, so that one rollout has many answers to each of them."""

    total_steps: int = 16_384
    """Environment steps, the expert's and those of one rollout of answers, counted over
    all environments. With more, pairs are made anew by what has been learned, while the
    reference stays: DPO is then no longer offline (Guo et al. 2024,
    arXiv:2402.04792)."""

    num_envs: int = 8_192
    """Number of environments stepped side by side, an even one: two of them begin every
    episode together, and make a pair."""

    num_steps: int = 1
    """Steps that every environment takes for a rollout (T). Choose at least the longest
    episode's; what does not end in a rollout is not compared."""

    demonstration_steps: Annotated[int, Field(ge=0)] = 8_192
    """Environment steps of an expert that is cloned first; 0 begins without it. The
    clone is the reference, and its answers make the pairs. They count in
    `total_steps`."""

    clone_steps: Steps | None = 100
    """Gradient steps of cloning. More make a better reference, of which pairs teach
    less: where both answers are right, nothing is preferred."""

    clone_batch_size: BatchSize = 64

    clone_warmup_steps: StepsOrZero = 50
    """Gradient steps of cloning over which its learning rate rises from zero."""

    clone_learning_rate: LearningRate = 1e-3

    judge: str = "reward"
    """Who compares the answers: `reward` is the environment's, of which a sum over the
    episode is taken; `my_module:function` scores actions, from observations `[N, ...]`
    and actions `[N, ...]` to numbers `[N]`."""

    beta: Positive = 1.0
    """How much reward a nat of divergence from the reference costs. Higher keeps closer
    to the reference; lower follows the pairs further, also where they mislead."""

    num_epochs: Annotated[int, Field(ge=1, le=10**4)] = 10
    """Passes over the pairs of a rollout. More fit them more closely, and in the end
    also what is accidental about them."""

    pairs_per_step: BatchSize = 64
    """Pairs of each gradient step (of the largest, if they differ by one). More are
    less noisy and slower."""

    learning_rate: LearningRate = 1e-4
    """Learning rate of Adam. Higher learns faster, and makes all answers unlikely that
    are in no pair."""

    gamma: float = 1.0
    """Discount of rewards in returns, from 0 (only the next counts) to 1 (all do)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_envs % 2:
            raise self.error("num_envs", "two make a pair: choose an even number")
        if not self.judge:
            raise self.error("judge", "say 'reward', or name my_module:function")
