"""Rollouts `[T, N]` of random numbers, and what is asked about them."""

from __future__ import annotations

from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor


def rollout_of(
    steps: int = 6, envs: int = 4, ends: float = 0.0, action: Any = None
) -> TensorDict:
    """Observations of three numbers, three choices, and ends with that probability."""
    rng, size = torch.Generator().manual_seed(1), (steps, envs)
    obs = torch.randn(steps + 1, envs, 3, generator=rng)
    data: dict[str, Any] = {"obs": obs[:-1], "next_obs": obs[1:].clone()}
    data["reward"] = torch.randn(size, generator=rng)
    data["action"] = torch.randint(3, size, generator=rng)
    for name in ("terminated", "truncated"):
        data[name] = torch.rand(size, generator=rng) < ends
    if action is not None:
        data["action"] = action
    return TensorDict(data, size)


def gradients(algorithm: Any, data: TensorDict) -> tuple[Tensor, ...]:
    """Of the loss of minibatches `[B]`, by all parameters."""
    loss, _ = algorithm.loss(data)
    return torch.autograd.grad(loss, list(algorithm.model.parameters()))
