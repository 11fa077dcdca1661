"""Log-probabilities of actions that are many tokens, as rows of episodes."""

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.buffers import actions_taken


def executed(log_prob: Tensor, data: TensorDict) -> Tensor:
    """Which tokens of a `log_prob [B, L, ...]` are of executed actions, bool.

    Those of the first `num_steps [B]` actions; without `num_steps`, all.
    """
    num_steps = data.get("num_steps", None)
    if num_steps is None:
        return torch.ones_like(log_prob, dtype=torch.bool)
    return _of_all_axes(actions_taken(num_steps, log_prob.shape[1]), log_prob)


def tokens_taken(model: Any, steps: TensorDict, log_prob: Tensor) -> Tensor:
    """Which tokens of a `log_prob [S, L, ...]` of steps `[S]` were chosen, bool.

    A policy that writes says it of its actions, by `written(action) -> bool [S, L]`;
    else those that were `executed` were.
    """
    if log_prob.ndim == 1:
        return torch.ones_like(log_prob, dtype=torch.bool)
    if hasattr(model, "written"):
        return _of_all_axes(model.written(steps["action"]), log_prob)
    return executed(log_prob, steps)


def joint(values: Tensor, data: TensorDict) -> Tensor:
    """Sums over executed tokens, `[B]`, of what was said of tokens `[B, L, ...]`.

    Of log-probabilities it is that of all of them together. What was said of whole
    chunks, `[B]`, stays.
    """
    if values.ndim == 1:
        return values
    return values.where(executed(values, data), 0.0).flatten(1).sum(1)


def where_taken(values: Tensor, mask: Tensor) -> Tensor:
    """Values `[B, T, K]` of tokens that the `mask [B, T, K]` has, 0 elsewhere; of whole
    steps, `[B, T, 1]`, those of which it has any."""
    whole = values.shape[2] == 1
    return values * (mask.any(2, keepdim=True) if whole else mask)


def in_rows(values: Tensor, valid: Tensor) -> Tensor:
    """What was said of steps `[S, ...]` where episodes `[B, T]` have them, `[B, T, K]`.

    K is how many tokens a step has; elsewhere it is 0, or False.
    """
    flat = values.unsqueeze(1) if values.ndim == 1 else values.flatten(1)
    rows = torch.zeros(
        *valid.shape, flat.shape[1], dtype=flat.dtype, device=flat.device
    )
    return rows.index_put((valid,), flat)


def _of_all_axes(mask: Tensor, like: Tensor) -> Tensor:
    """A mask `[S, L]` for each number of a tensor `[S, L, ...]`."""
    return mask.view(*mask.shape, *[1] * (like.ndim - 2)).expand_as(like)
