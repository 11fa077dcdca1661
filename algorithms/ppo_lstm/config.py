"""Hyper-parameters of recurrent PPO."""

from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from yieldrl.algorithms import ppo
from yieldrl.on_policy import check_whole_sequences


@dataclass(frozen=True, kw_only=True)
class Config(ppo.Config):
    """PPO with an LSTM; its width is one more hyper-parameter."""

    uncompiled: ClassVar[str | None] = "its loop over time takes minutes to compile"

    lstm_size: Annotated[int, Field(ge=1, le=4096)] = 64
    """Width of the LSTM's output; its memory is twice as many numbers. Wider can
    remember more and takes longer to compute and to learn."""

    num_envs: int = 16
    """Number of environments stepped side by side. Minibatches hold whole sequences, so
    there must be at least `num_minibatches` of them."""

    num_minibatches: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole_sequences(self)
