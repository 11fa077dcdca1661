"""Log-probabilities of actions that are many tokens, as rows of episodes."""

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.buffers import actions_taken


def tokens_taken(model: Any, steps: TensorDict, log_prob: Tensor) -> Tensor:
    """Which tokens of a `log_prob [S, L, ...]` of steps `[S]` were chosen, bool.

    A policy that writes says it of its actions, by `written(action) -> bool [S, L]`. Of
    chunks of actions those count that were executed, `num_steps [S]`; else all do.
    """
    taken = torch.ones_like(log_prob, dtype=torch.bool)
    if log_prob.ndim == 1:
        return taken
    if hasattr(model, "written"):
        first = model.written(steps["action"])
    elif "num_steps" in set(steps.keys()):
        first = actions_taken(steps["num_steps"], log_prob.shape[1])
    else:
        return taken
    return first.view(*first.shape, *[1] * (log_prob.ndim - 2)).expand_as(taken)


def in_rows(values: Tensor, valid: Tensor) -> Tensor:
    """What was said of steps `[S, ...]` where episodes `[B, T]` have them, `[B, T, K]`.

    K is how many tokens a step has; elsewhere it is 0, or False.
    """
    flat = values.reshape(len(values), -1)
    rows = torch.zeros(
        *valid.shape, flat.shape[1], dtype=flat.dtype, device=flat.device
    )
    return rows.index_put((valid,), flat)
