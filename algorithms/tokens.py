"""Actions of many tokens: which were executed, and numbers of theirs as rows."""

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor


def executed_mask(values: Tensor, data: TensorDict) -> Tensor:
    """Mask of the tokens of `values [B, L, ...]` whose actions were executed, bool.

    These are the first `num_steps [B]` actions; without `num_steps`, all.

    >>> data = TensorDict({"num_steps": torch.tensor([1, 3])}, [2])
    >>> executed_mask(torch.zeros(2, 3), data)
    tensor([[ True, False, False],
            [ True,  True,  True]])
    """
    num_steps = data.get("num_steps", None)
    if num_steps is None:
        return torch.ones_like(values, dtype=torch.bool)
    actions = torch.arange(values.shape[1], device=num_steps.device)
    return _of_all_axes(actions < num_steps.unsqueeze(1), values)


def tokens_taken(model: Any, steps: TensorDict, log_prob: Tensor) -> Tensor:
    """Mask of the tokens of `log_prob [S, L, ...]` that the policy chose, bool.

    A language model has `written(action) -> bool [S, L]`; for others these are the
    tokens of `executed_mask`.
    """
    if log_prob.ndim == 1:
        return torch.ones_like(log_prob, dtype=torch.bool)
    if hasattr(model, "written"):
        return _of_all_axes(model.written(steps["action"]), log_prob)
    return executed_mask(log_prob, steps)


def sum_executed(values: Tensor, data: TensorDict) -> Tensor:
    """Sum over executed tokens, `[B]`, of numbers per token, `[B, L, ...]`.

    For log-probabilities it is the joint one. Numbers per chunk, `[B]`, are returned
    unchanged.
    """
    if values.ndim == 1:
        return values
    return values.where(executed_mask(values, data), 0.0).flatten(1).sum(1)


def where_taken(values: Tensor, mask: Tensor) -> Tensor:
    """Values `[B, T, K]` of tokens that the `mask [B, T, K]` has, 0 elsewhere; of whole
    steps, `[B, T, 1]`, those of which it has any."""
    whole = values.shape[2] == 1
    return values * (mask.any(2, keepdim=True) if whole else mask)


def steps_of(rows: TensorDict) -> TensorDict:
    """The `valid` steps `[S]` of episodes `[..., T]`; on a GPU, which one would wait
    for to count them, all steps."""
    valid = rows["valid"]
    return rows[valid] if valid.is_cpu else rows.flatten()


def in_rows(values: Tensor, valid: Tensor) -> Tensor:
    """Numbers of `steps_of` episodes, `[S, ...]`, put into their rows, `[..., T, K]`.

    K is the number of tokens of a step; steps that do not exist get 0 or False.
    """
    flat = values.unsqueeze(1) if values.ndim == 1 else values.flatten(1)
    if len(flat) == valid.numel():
        return flat.view(*valid.shape, -1).masked_fill(~valid.unsqueeze(-1), 0)
    rows = torch.zeros(
        *valid.shape, flat.shape[1], dtype=flat.dtype, device=flat.device
    )
    return rows.index_put((valid,), flat)


def _of_all_axes(mask: Tensor, like: Tensor) -> Tensor:
    """A mask `[S, L]` for each number of a tensor `[S, L, ...]`."""
    return mask.view(*mask.shape, *[1] * (like.ndim - 2)).expand_as(like)
