"""Advantages and value targets per action of a chunk, of executed actions alone."""

from collections.abc import Callable

from tensordict import TensorDict
from torch import Tensor

from yieldrl.on_policy.tokens import executed_mask


def with_action_advantages(
    data: TensorDict, normalize: Callable[[Tensor], Tensor]
) -> TensorDict:
    """A minibatch `[B]` with the `advantage [B, L]` of each action.

    Needs `action_returns`, `action_value` `[B, L]`; sets `actions [B]`, the mean count.
    """
    above = data["action_returns"] - data["action_value"]
    mask = executed_mask(above, data)
    data["advantage"] = above.masked_scatter(mask, normalize(above[mask]))
    return data.set("actions", mask.sum(1).float().mean().expand(len(data)))


def action_value_targets(value: Tensor, data: TensorDict) -> tuple[TensorDict, Tensor]:
    """The targets of values `[B, L]`, and the share of executed actions, 0-dim.

    `returns` and old `value` `[B * L]`, equal to `value` where nothing was executed:
    the mean of a loss that is zero there, over that share, is that of executed actions.
    """
    mask, estimate = executed_mask(value, data), value.detach()
    names = {"returns": "action_returns", "value": "action_value"}
    targets = {
        k: data[name].where(mask, estimate).flatten() for k, name in names.items()
    }
    return TensorDict(targets, [value.numel()]), data["actions"].mean() / value.shape[1]
