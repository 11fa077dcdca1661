"""Hyper-parameters of GRPO for vision-language-action policies."""

from dataclasses import field
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl.algorithms import grpo
from yieldrl.foundations import Count, LearningRate
from yieldrl.vla.config import VLAConfig

SMALL = {"height": 3, "width": 3, "num_objects": 1, "max_episode_steps": 4}
"""A grid on which hundreds of updates take a minute."""


@dataclass(frozen=True, kw_only=True)
class Config(VLAConfig, grpo.Config):
    """GRPO for vision-language-action policies; the defaults train a tiny one, with
    weights of its own, on yieldrl/GoTo-v1 seen as images with its instruction: it
    clones an expert for a moment, and its successes do the rest."""

    uncompiled: ClassVar[str | None] = "libraries of large models compile their own"
    precision: ClassVar[str] = "float32"  # the model's own is `dtype`
    actor_obs: ClassVar[tuple[str, ...]] = ()  # it reads what `observation_keys` says
    value_learning_rate: ClassVar[None] = None  # there is no critic
    d_model: ClassVar[int] = 128  # for language models only
    num_layers: ClassVar[int] = 4
    num_heads: ClassVar[int] = 4
    template: ClassVar[str] = "{}"
    tempered_learning: ClassVar[bool] = True

    env_id: str = "yieldrl/GoToPixels-v1"
    """Id of a registered environment, with images or with `observation_keys`. Its
    rewards may be of successes alone."""

    env_kwargs: dict[str, Any] = field(default_factory=lambda: {**SMALL})
    """Arguments of the environment. Members of a group wait for the longest episode,
    which a lower `max_episode_steps` shortens."""

    total_steps: int = 40_000
    """Environment steps to train for, the expert's and GRPO's together. The learning
    rate falls to zero over GRPO's."""

    demonstration_steps: int = 1_024
    """Environment steps of an expert that is cloned first; 0 begins without it. The
    clone has to succeed now and then: where all of a group fail, nothing is learned."""

    clone_batch_size: int = 32

    clone_steps: int | None = 100
    """Gradient steps of cloning, in place of `clone_epochs`; None takes as many as
    these take."""

    num_envs: int = 256

    num_steps: int = 4
    """Chunks of actions that every environment executes for a rollout (T), in which a
    group begins another episode only if the longest would still end."""

    num_minibatches: int = 2
    num_epochs: int = 2
    eval_episodes: int = 10
    warmup_share: float = 0.0

    learning_rate: float = 5e-4
    """Learning rate of AdamW at the start. Pretrained models take less, 1e-5 say;
    higher learns faster, too high forgets what was known before."""

    adapter_learning_rate: LearningRate | None = None
    """Learning rate of low-rank adapters, which can take more than the weights that
    they stand for. By default `learning_rate`."""

    weight_decay: Annotated[float, Field(ge=0, le=1_000)] = 0.0
    """Share of every weight that AdamW takes away per step, times the learning rate.
    Higher keeps weights smaller."""

    least_share: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    """Leave out groups of which a smaller share succeeded, or failed. Higher learns
    from what is neither too hard nor too easy yet, of fewer groups."""

    ratio_level: Literal["token", "action", "step", "sequence"] = "token"
    """What the ratio is of: each `token` by itself; the tokens of an `action` together;
    those of a `step`, that is of a chunk of actions; or the whole episode, as a
    `sequence`. Longer products leave the clip sooner."""

    micro_batches: Count = 1
    """Parts in which a minibatch of episodes goes through the model. More take less
    memory and more time, for the same step."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ratio_level in ("token", "action") and self.log_prob_per != "token":
            raise self.error(
                "ratio_level",
                "the ratio of a token needs its log-probability: choose 'step', or"
                " log_prob_per='token'",
            )
