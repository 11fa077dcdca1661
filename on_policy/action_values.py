"""Values of each of the actions of a chunk: what is learned of those executed alone."""

from collections.abc import Callable

from tensordict import TensorDict
from torch import Tensor

from yieldrl.on_policy.tokens import executed


def judged_by_action(data: TensorDict, even: Callable[[Tensor], Tensor]) -> TensorDict:
    """A minibatch `[B]` with the `advantage [B, L]` of each action.

    It has `action_returns` and `action_value` `[B, L]`, and gets `actions [B]`, the
    mean number of executed ones. `even` normalises the advantages of those.
    """
    above = data["action_returns"] - data["action_value"]
    mask = executed(above, data)
    data["advantage"] = above.masked_scatter(mask, even(above[mask]))
    return data.set("actions", mask.sum(1).float().mean().expand(len(data)))


def of_actions(value: Tensor, data: TensorDict) -> tuple[TensorDict, Tensor]:
    """What values `[B, L]` are to become, and the share of them that counts, 0-dim.

    `returns` and old `value` `[B * L]`, equal to `value` where nothing was executed:
    the mean of a loss that is zero there, over that share, is that of executed actions.
    """
    mask, own = executed(value, data), value.detach()
    names = {"returns": "action_returns", "value": "action_value"}
    known = {k: data[name].where(mask, own).flatten() for k, name in names.items()}
    share = data["actions"].mean() / value.shape[1]
    return TensorDict(known, [value.numel()]), share
