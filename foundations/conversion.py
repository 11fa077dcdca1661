"""Convert observations to tensors on a device, and actions back for environments."""

from __future__ import annotations

from typing import Any

import torch
from gymnasium import Space
from torch import Tensor

from yieldrl.foundations import spaces, text


class ObservationActionAdapter:
    """Observations become batches of tensors; actions take the observations' form.

    Args:
        observation_space: Space of one observation.
        action_space: Space of one action.
        device: Where tensors live.
        unit_box: Actions for a Box lie in [-1, 1], to be stretched to its bounds.

    Attributes:
        actions: What the policy's actions mean to the environment.
    """

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        device: torch.device,
        *,
        unit_box: bool = False,
    ) -> None:
        self._space, self._device = observation_space, device
        self._reads = text.has_text(observation_space)
        self.actions = spaces.ActionTransform(action_space, device, unit_box=unit_box)

    def to_tensors(self, obs: Any, needed: tuple[str, ...] = ()) -> tuple[Any, bool]:
        """Observations as tensors `[B, ...]`, and whether they had the batch axis.

        Sentences may be written as text: strings, or a sequence of them.

        Args:
            obs: One observation, or a batch of them.
            needed: Entries of a Dict that must be there; by default all.

        Raises:
            ValueError: If they are neither one observation nor a batch of them, or an
                entry is missing.
        """
        obs = text.encoded(self._space, obs) if self._reads else obs
        tensors = spaces.to_tensor(obs, self._device)
        batched = spaces.is_batched(self._space, tensors, needed)
        return tensors if batched else spaces.add_batch_axis(tensors), batched

    def like_input(self, action: Tensor, obs: Any, batched: bool) -> Any:
        """Actions `[B, ...]` in the form of the observations: arrays, or tensors."""
        action = action if batched else action[0]
        if spaces.holds_tensors(obs):
            return action
        array = action.numpy() if action.is_cpu else action.cpu().numpy()
        return array if batched else array[()]  # a choice alone is a number: hashable
