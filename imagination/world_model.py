"""Interface of world models."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import Tensor

from yieldrl.abstractions import Model
from yieldrl.imagination.outcomes import OutcomeHead


class Prediction(NamedTuple):
    """A world model's prediction of a step, for a batch `[B]` of states."""

    next_obs: Any  # the next states [B, ...], in the model's own form
    outcome: Tensor  # raw outputs for reward and end [B, outputs]; see `outcome`
    disagreement: Tensor  # the model's uncertainty [B]; 0 if unknown


class WorldModel(Model, ABC):
    """Networks that predict the next state, the reward and the end of a step.

    A state is what `begin` returns for an observation: itself, where the model
    predicts observations; a latent, a nested TensorDict `[B]` too, where it predicts
    latents. Actions are those that a buffer has: choices count from zero.
    """

    outcome: OutcomeHead
    """Reads reward and end from what `predict` returns."""

    def begin(self, obs: Any) -> Any:
        """The state `[B, ...]` in which imagination starts, of real observations."""
        return obs

    @abstractmethod
    def predict(
        self, obs: Any, action: Tensor, generator: torch.Generator | None = None
    ) -> Prediction:
        """Predict the step after actions `[B, ...]` in states `[B, ...]`.

        With a generator it is sampled, if the model has a distribution; without one it
        is the mean.
        """
