"""Critics of actions that are numbers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class ActionCritic(nn.Module):
    """`Q(s, a)` from the features of the observation beside the action.

    Args:
        encoder: From observations to features `[B, F]`.
        head: From features and action `[B, F + D]` to `[..., B, 1]`.
    """

    def __init__(self, encoder: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    def features(self, obs: Any, action: Tensor) -> Tensor:
        """What the head reads, `[B, F + D]`."""
        features = self.encoder(obs)
        return torch.cat([features, action.reshape(len(features), -1)], dim=-1)

    def forward(self, obs: Any, action: Tensor) -> Tensor:
        return self.head(self.features(obs, action)).squeeze(-1)
