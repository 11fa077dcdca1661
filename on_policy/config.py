"""Hyper-parameters of networks with an actor, and maybe a critic."""

from typing import Literal

from pydantic.dataclasses import dataclass

from yieldrl import core
from yieldrl.core import (
    LogStd,
    Widths,
)


@dataclass(frozen=True, kw_only=True)
class ActorCriticConfig(core.Config):
    """Which observations the networks read, and how wide they are."""

    actor_obs: tuple[str, ...] = ()
    """Entries of a Dict observation that the actor reads, by default all. Acting does
    without the others, which may be there in training alone."""

    critic_obs: tuple[str, ...] = ()
    """Entries of a Dict observation that the critic reads, by default all. If they are
    others than the actor's, it has an encoder of its own."""

    hidden_sizes: Widths = (64, 64)
    """Widths of the hidden layers, of the actor and of the critic. Wider or more layers
    can represent more and take longer to compute and to learn."""

    activation: Literal["tanh", "relu"] = "tanh"
    """Activation of the hidden layers. `tanh` keeps outputs bounded; `relu` suits wider
    and deeper networks."""

    log_std_init: LogStd = 0.0
    """Logarithm of a Gaussian policy's standard deviation at the start; 0 is a standard
    deviation of 1. Higher explores more at first. Discrete actions do not use it."""

    normalize_observation: bool = False
    """Subtract the running mean of observations and divide by their running standard
    deviation; both are saved with the model. It helps where components differ in
    size. Images, sentences, choices and flags stay as they are. While a part of the
    model that reads them is frozen, both stand still."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("actor_obs", "critic_obs"):
            entries: tuple[str, ...] = getattr(self, name)
            if "" in entries or len(set(entries)) < len(entries):
                raise self.error(name, "name every entry once, and none ''")
