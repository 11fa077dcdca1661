"""Rollouts `[T, N]` of random numbers, and what is asked about them."""

import torch
from tensordict import TensorDict


def rollout_of(steps=6, envs=4, ends=0.0, action=None):
    """Observations of three numbers, three choices, and ends with that probability."""
    rng, size = torch.Generator().manual_seed(1), (steps, envs)
    obs = torch.randn(steps + 1, envs, 3, generator=rng)
    data = {"obs": obs[:-1], "next_obs": obs[1:].clone()}
    data["reward"] = torch.randn(size, generator=rng)
    data["action"] = torch.randint(3, size, generator=rng)
    for name in ("terminated", "truncated"):
        data[name] = torch.rand(size, generator=rng) < ends
    if action is not None:
        data["action"] = action
    return TensorDict(data, size)


def gradients(algorithm, data):
    """Of the loss of minibatches `[B]`, by all parameters."""
    loss, _ = algorithm.loss(data)
    return torch.autograd.grad(loss, list(algorithm.model.parameters()))
