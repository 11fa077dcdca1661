"""What follows from acting and evaluating in one pass: the rest of the interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor

from yieldrl.vla.interface import VLAOutput
from yieldrl.vla.parameter_groups import FrozenInEval
from yieldrl.vla.statistics import ActionStatistics, ProprioStatistics


class OnePassModule(FrozenInEval, ABC):
    """Base of models that follow `OnePassVLA`; `get_value` is left to them too.

    Attributes:
        action_statistics: Units of the actions; None for choices.
        proprio_statistics: Units of the proprioception; None without any.
    """

    action_statistics: ActionStatistics | None
    proprio_statistics: ProprioStatistics | None

    @abstractmethod
    def act(
        self,
        observations: Any,
        deterministic: bool = False,
        generator: torch.Generator | None = None,
    ) -> VLAOutput:
        """Act, at random (drawn from `generator`) or as is most likely."""

    @abstractmethod
    def evaluate(self, observations: Any, actions: Tensor) -> VLAOutput:
        """What it says of given actions, chunks `[B, L, D]`."""

    @abstractmethod
    def get_value(self, observations: Any) -> Tensor:
        """The state's value, `[B, 1]`."""

    def forward(
        self,
        observations: Any,
        deterministic: bool = False,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Act: chunks `[B, L, D]`."""
        return self.act(observations, deterministic, generator).action

    def evaluate_actions(
        self, observations: Any, actions: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Log-probability of every token `[B, L, D]`, and entropy `[B]`."""
        output = self.evaluate(observations, actions)
        return output.log_prob, output.entropy

    def update_normalization(
        self, proprio: Tensor | None, actions: Tensor | None
    ) -> None:
        """Fit what statistics are not known yet; those that are never move.

        Args:
            proprio: Proprioception, `[..., P]`.
            actions: In the environment's units, `[..., D]`.
        """
        pairs = (self.proprio_statistics, proprio), (self.action_statistics, actions)
        for own, data in pairs:
            if own is not None and data is not None and not own.fitted:
                own.fit(data)
