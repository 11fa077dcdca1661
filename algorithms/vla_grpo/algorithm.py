"""The mathematics of GRPO for policies whose actions are many tokens.

Li et al. 2025, "SimpleVLA-RL: Scaling VLA Training via Reinforcement Learning",
arXiv:2509.09674; Yu et al. 2025, "RLinf-VLA", arXiv:2510.06710.
"""

import torch
from torch import Tensor

from yieldrl.algorithms import grpo
from yieldrl.functional import share_above
from yieldrl.vla.parameter_groups import optimizer_groups

from .config import Config

AXES = {"token": (), "action": (3,), "step": (2, 3), "sequence": (1, 2, 3)}
"""Over which axes of tokens `[B, T, L, D]` a ratio is one."""


class Algorithm(grpo.Algorithm):
    """GRPO of episodes whose steps are chunks of actions, of L * D tokens each.

    Tokens of actions that were not executed have no part in it. A value head that the
    model may have is not trained.
    """

    config: Config

    def make_optimizer(self) -> torch.optim.Optimizer:
        """AdamW, with a learning rate for each of the model's parameter groups."""
        options = {"eps": 1e-5, "weight_decay": self.config.weight_decay, "fused": True}
        return torch.optim.AdamW(optimizer_groups(self.model, self.config), **options)

    def relative(self, returns: Tensor, counted: Tensor) -> Tensor:
        """GRPO's advantages `[K, G]`, but 0 in groups that `least_share` leaves out."""
        share, least = share_above(returns, counted), self.config.least_share
        kept = torch.minimum(share, 1 - share) > least - 1e-6
        return super().relative(returns, counted) * kept

    def shared(self, log_ratio: Tensor, mask: Tensor) -> Tensor:
        """As GRPO has them, and between its levels those of the D tokens of an action.

        A policy that tells one number for a chunk has K = 1.
        """
        actions = min(self.config.chunk_length, log_ratio.shape[2])
        parts = log_ratio.unflatten(2, (actions, -1))  # [B, T, L, D]
        axes = AXES[self.config.ratio_level]
        total = parts.sum(axes, keepdim=True) if axes else parts
        return total.expand_as(parts).flatten(2)
