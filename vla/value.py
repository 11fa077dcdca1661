"""The value head: attention pooling over hidden states."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from yieldrl.networks import MLP


class AttentionPool(nn.Module):
    """The value of a state from the hidden states of its prompt.

    A learned query weighs the positions, `softmax(q . norm(h_i) / sqrt(W))`, and an MLP
    reads their weighted mean. The query is zero at first: a plain mean. Touvron et al.
    2021, "Augmenting Convolutional Networks with Attention-based Aggregation",
    arXiv:2112.13692, section 3.

    Args:
        width: `W`, of hidden states.

    Attributes:
        query: `[W]`.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.query = nn.Parameter(torch.zeros(width))
        self.mlp = MLP([width, width, 1], last_gain=1.0)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Values `[B]`, float32, of hidden states `[B, S, W]` that are not masked."""
        # What padding holds must not even reach a product: 0 * NaN is NaN.
        states = self.norm(hidden.float().masked_fill(~mask.unsqueeze(-1), 0))
        score = states @ self.query * len(self.query) ** -0.5
        weight = score.masked_fill(~mask, -torch.inf).softmax(-1)
        pooled = (weight.unsqueeze(-1) * states).sum(1)
        return self.mlp(pooled).squeeze(-1)
