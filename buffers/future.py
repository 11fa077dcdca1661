"""What lies ahead of every transition of a rollout, within its episode."""

from __future__ import annotations

from typing import NamedTuple

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.functional import discounted_returns


class Future(NamedTuple):
    """What lies ahead of transitions `[B]`, in the order of a flattened rollout."""

    left: Tensor
    """Steps to the episode's end, its own included; 0 where a step only reset."""

    end: Tensor
    """Flat position of the episode's last transition."""

    returns: Tensor
    """Rewards up to there, discounted."""

    discount: Tensor
    """Of what comes after it: `gamma ** left`, and 0 where the episode terminated."""

    cut: bool
    """Whether any episode ended otherwise than by termination."""


def look_ahead(rollout: TensorDict, gamma: float) -> Future:
    """What lies ahead of the transitions of a rollout `[T, N]`.

    Episodes under way at the last row end there, as if they were truncated. On a GPU
    this waits for the device.

    Args:
        rollout: Has `reward`, `terminated`, `truncated`, and `valid` where steps may
            only reset an environment.
        gamma: Discount of a step.

    >>> flags = torch.tensor([[False], [True], [False]])
    >>> rollout = {"reward": torch.ones(3, 1), "truncated": torch.zeros_like(flags)}
    >>> ahead = look_ahead(TensorDict({**rollout, "terminated": flags}, [3, 1]), 0.5)
    >>> ahead.left.tolist(), ahead.returns.tolist(), ahead.discount.tolist()
    ([2, 1, 1], [1.5, 1.0, 1.0], [0.0, 0.0, 0.5])
    """
    terminated, truncated = rollout["terminated"], rollout["truncated"]
    steps, num_envs = rollout.batch_size
    row = torch.arange(steps, device=terminated.device).unsqueeze(1)
    ends = torch.where(terminated | truncated, row, steps - 1)
    end = ends.flip(0).cummin(0).values.flip(0)  # the first end that is to come
    left = end - row + 1
    valid = rollout.get("valid", None)
    if valid is not None:  # an end lies before every reset, so none is passed over
        left = left * valid
    goes_on = ~terminated.gather(0, end)
    reward = rollout["reward"]
    returns = discounted_returns(
        reward, torch.zeros_like(reward), terminated, truncated, gamma
    )
    place = torch.arange(num_envs, device=terminated.device)
    return Future(
        left=left.flatten(),
        end=(end * num_envs + place).flatten(),
        returns=returns.flatten(),
        discount=(gamma**left * goes_on).flatten(),
        cut=bool((goes_on & (left > 0)).any()),
    )
