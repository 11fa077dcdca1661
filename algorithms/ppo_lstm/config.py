"""Hyper-parameters of recurrent PPO."""

from __future__ import annotations

from dataclasses import dataclass

from yieldrl.algorithms import ppo


@dataclass(frozen=True, kw_only=True)
class Config(ppo.Config):
    """PPO's, and how much it remembers."""

    lstm_size: int = 64
    """Width of the LSTM's output; it remembers twice as many numbers."""

    num_envs: int = 16
    """Environments stepped side by side."""

    num_minibatches: int = 4
    """Minibatches into which a pass is cut: of whole environments, so at most
    `num_envs`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_range("lstm_size", low=1)
        if self.num_minibatches > self.num_envs:
            raise self.error(
                "num_minibatches",
                f"sequences stay whole, and there are only {self.num_envs}: choose"
                " fewer, or more num_envs",
            )
        if self.compile:
            raise self.error(
                "compile",
                "the loop over time would be compiled step by step, which takes"
                " minutes: use compile=False",
            )
