"""What every model of the world can be asked."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import Tensor

from yieldrl.abstractions import Model
from yieldrl.imagination.outcomes import OutcomeHead


class Prediction(NamedTuple):
    """What a model of the world says of a step, for a batch `[B]` of states."""

    next_obs: Any  # the next states [B, ...], as the model itself takes them
    outcome: Tensor  # raw numbers of reward and end [B, outputs], for `outcome` to read
    disagreement: Tensor  # how unsure the model is of it [B]; 0 where it cannot say


class WorldModel(Model, ABC):
    """Networks that say what comes of an action: the next state, reward and end.

    A state is whatever `begin` makes of an observation: itself, where the model
    predicts observations; a latent, a nested TensorDict `[B]` too, where it predicts
    latents. Actions are those that a buffer has.
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
        """What comes of actions `[B, ...]` in states `[B, ...]`.

        With a generator it is drawn, where the model has a distribution; without one it
        is the best guess.
        """
