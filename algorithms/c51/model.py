"""The network of C51: for every action a distribution of returns."""

from typing import Any

import torch
from gymnasium import Space
from torch import Tensor, nn

from yieldrl.algorithms import dqn

from .config import Config


class Model(dqn.Model):
    """`Z(s, a)`: probabilities of `K` returns, the `atoms [K]`; `Q` is their mean."""

    config: Config
    atoms: Tensor

    def __init__(
        self, observation_space: Space[Any], action_space: Space[Any], config: Config
    ) -> None:
        super().__init__(observation_space, action_space, config)
        atoms = torch.linspace(config.v_min, config.v_max, config.num_atoms)
        self.register_buffer("atoms", atoms, persistent=False)

    def make_head(self, per_action: int = 1) -> nn.Module:
        return super().make_head(self.config.num_atoms)

    def logits(self, obs: Any, action: Tensor | None = None) -> Tensor:
        """Of every action's atoms, `[B, A, K]`; of actions' `[B]` alone, `[B, K]`."""
        logits = self.head(self.encoder(obs)).unflatten(1, (self.num_actions, -1))
        logits = logits.to(self.atoms.dtype)  # matmuls may have lower precision
        return logits if action is None else of_action(logits, action)

    def action_values(self, obs: Any) -> Tensor:
        """`Q(s, a) = sum_i p_i(s, a) z_i`, `[B, A]`."""
        return self.logits(obs).softmax(-1) @ self.atoms


def of_action(values: Tensor, action: Tensor) -> Tensor:
    """Select the entries of the actions `[B]`: from `[B, A, K]` to `[B, K]`."""
    return torch.take_along_dim(values, action.view(-1, 1, 1), dim=1).squeeze(1)
