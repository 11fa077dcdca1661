"""Passes through the decoder of a language model of transformers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from yieldrl.vla.optional_imports import require


def recompute_layers(network: Any) -> None:
    """Let a network of transformers compute hidden states anew for gradients."""
    # The name of the method has changed within version 5.
    enable = getattr(network, "activation_checkpointing_enable", None)
    (enable or network.gradient_checkpointing_enable)()


def key_value_cache() -> Any:
    """An empty cache of keys and values."""
    return require("transformers").DynamicCache()


def last_hidden(
    decoder: Any,
    embeddings: Tensor,
    mask: Tensor,
    bidirectional_from: int | None,
    cache: Any = None,
) -> Tensor:
    """Hidden states of the last `k` of `S` positions, `[B, k, W]` float32.

    Args:
        decoder: Of a language model of transformers.
        embeddings: Of these positions, `[B, k, W]`; without a cache of all.
        mask: `[B, S]` bool, False where nobody looks.
        bidirectional_from: See `visible`.
        cache: Keys and values of the positions before these, which are added to them.
    """
    new = embeddings.shape[1]
    output = decoder(
        inputs_embeds=embeddings,
        attention_mask=visible(mask, bidirectional_from)[:, :, -new:],
        position_ids=(mask.cumsum(1) - 1).clamp(min=0)[:, -new:],
        cache=cache,
        use_cache=cache is not None,
    )
    return output.last_hidden_state.float()


def visible(mask: Tensor, bidirectional_from: int | None) -> Tensor:
    """The attention mask: which tokens attend to which, `[B, 1, S, S]` bool.

    Every position attends to itself, also a hidden one, whose softmax would otherwise
    be over nothing; and to what `mask` shows before it. From `bidirectional_from` on it
    attends to all that `mask` shows.

    >>> visible(torch.tensor([[True, False, True]]), None).int().tolist()
    [[[[1, 0, 0], [1, 1, 0], [1, 0, 1]]]]
    """
    size = mask.shape[1]
    earlier = torch.ones(size, size, dtype=torch.bool, device=mask.device).tril()
    if bidirectional_from is not None:
        earlier[bidirectional_from:] = True
    itself = torch.eye(size, dtype=torch.bool, device=mask.device)
    return (earlier & mask[:, None, None, :]) | itself
