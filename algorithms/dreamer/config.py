"""Hyper-parameters of Dreamer."""

from typing import ClassVar

from pydantic.dataclasses import dataclass

from yieldrl.algorithms.off_policy import OffPolicyConfig
from yieldrl.core import Coefficient, Count, LearningRate, Positive, UnitInterval
from yieldrl.imagination import LatentConfig


@dataclass(frozen=True, kw_only=True)
class Config(OffPolicyConfig, LatentConfig):
    """A small Dreamer; the defaults are for MinAtar's Breakout, on a CPU."""

    uncompiled: ClassVar[str | None] = "its loops over time take minutes to compile"

    env_id: str = "yieldrl/MinAtar-Breakout-v1"
    num_envs: int = 8
    total_steps: int = 50_000
    buffer_size: int = 100_000
    train_every: int = 4

    batch_size: int = 16
    """Sequences drawn for each gradient step. More give gradients with less noise, and
    more branches of imagination."""

    horizon: Count = 15
    """Steps that are imagined from every state of the sequences. More see further ahead
    and rely more on the model."""

    learning_rate: LearningRate = 1e-3
    """Learning rate of Adam, of the world model. Too high diverges."""

    behavior_rate: LearningRate = 1e-3
    """Learning rate of Adam, of actor and critic. Higher follows the model sooner, and
    its mistakes too."""

    max_grad_norm: Positive = 100.0
    """Gradients with a larger norm are scaled down to it."""

    gae_lambda: UnitInterval = 0.95
    """Weight of imagined rewards against the critic's values in the returns: at 0 one
    step counts, at 1 the whole horizon."""

    entropy_coef: Coefficient = 1e-2
    """Weight of the policy's entropy beside the returns. Higher explores more."""

    tau: float = 0.02
    hidden_sizes: tuple[int, ...] = (128,)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.replay_actor:
            raise self.error("replay_actor", "it draws no sequences: leave it out")
        if self.sequence_length > (rows := self.buffer_size // self.num_envs):
            few = f"the buffer holds {rows} steps of an environment"
            remedy = "choose shorter ones or a larger buffer_size"
            raise self.error("sequence_length", f"{few}: {remedy}")
