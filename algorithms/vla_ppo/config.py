"""Hyper-parameters of PPO for vision-language-action policies."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl.algorithms.behavior_cloning.cloning_config import CloningConfig
from yieldrl.core import Count, LearningRate
from yieldrl.vla.config import VLAConfig


@dataclass(frozen=True, kw_only=True)
class Config(VLAConfig, CloningConfig):
    """PPO for vision-language-action policies; the defaults train a tiny one, with
    weights of its own, on yieldrl/GoTo-v1 seen as images with its instruction: it
    clones an expert, then it goes on by itself."""

    uncompiled: ClassVar[str | None] = "libraries of large models compile their own"
    precision: ClassVar[str] = "float32"  # the model's own is `dtype`
    actor_obs: ClassVar[tuple[str, ...]] = ()  # it reads what `observation_keys` says
    critic_obs: ClassVar[tuple[str, ...]] = ()

    env_id: str = "yieldrl/GoToPixels-v1"
    """Id of a registered environment with images, or whose observations
    `observation_keys` names."""

    total_steps: int = 60_000
    """Environment steps to train for, the expert's and PPO's, counted over all
    environments. The learning rate falls to zero over PPO's."""

    num_envs: int = 64
    """Number of environments stepped side by side. More give a large model fuller
    batches, and each update more varied data."""

    collection: Literal["sync", "async", "ray"] = "async"
    """`async` steps the environments in a background thread, with a copy of what is
    trained of the policy, while the learner learns; `sync` does both in turn."""

    num_steps: int = 16
    """Chunks of actions that every environment executes for a rollout (T). More give
    better estimates of the advantage and fewer updates."""

    num_epochs: int = 4
    num_minibatches: int = 8

    learning_rate: float = 1e-4
    """Learning rate of AdamW at the start. Pretrained models take less, 1e-5 say;
    higher learns faster, too high forgets what was known before."""

    value_learning_rate: LearningRate | None = None
    """Learning rate of the value head, which can take more where the model around it is
    pretrained. By default `learning_rate`."""

    adapter_learning_rate: LearningRate | None = None
    """Learning rate of low-rank adapters, which can take more than the weights that
    they stand for. By default `learning_rate`."""

    weight_decay: Annotated[float, Field(ge=0, le=1_000)] = 0.0
    """Share of every weight that AdamW takes away per step, times the learning rate.
    Higher keeps weights smaller."""

    ratio_level: Literal["token", "action", "chunk"] = "chunk"
    """What the clipped probability ratio is of: `chunk`, all executed tokens of a
    decision together, as in PPO's theory; `action`, those of an action; `token`, each
    of them. Smaller parts leave long chunks of many numbers less clipped."""

    micro_batches: Count = 1
    """Parts in which a minibatch goes through the model. More take less memory and
    more time, for the same step."""

    normalize_reward: bool = False
    """Divide rewards by the running standard deviation of the return. It is off so that
    the critic goes on with the returns that cloning taught it; turn it on where rewards
    are much larger than 1."""

    entropy_coef: float = 0.0
    """Weight of the entropy bonus. Higher keeps the policy random for longer, and makes
    a good clone forget."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ratio_level != "chunk" and self.log_prob_per != "token":
            raise self.error(
                "ratio_level",
                "the ratio of a token needs its log-probability: choose 'chunk', or"
                " log_prob_per='token'",
            )
