"""Agents to export, and observations to ask them and their files about."""

import copy

import numpy as np
import torch

GO_TO = "yieldrl/GoTo-v1"
NARROW = {"hidden_sizes": (24, 16)}


def trainer(module, env_id, *, envs=None, **fields):
    """A trainer whose policy is nothing that an initialisation makes."""
    config = module.Config(env_id=env_id, device="cpu", **fields)
    made = module.Trainer(config, envs=envs)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in made.model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.add_(0.3 * noise)
        for name, buffer in made.model.named_buffers():
            if name.startswith("normalizer") and not name.endswith("count"):
                buffer.copy_(torch.rand(buffer.shape, generator=generator) + 0.5)
    return made


def observations(space, count, seed=1):
    """Random ones, `[count, ...]`."""
    space = copy.deepcopy(space)
    space.seed(seed)
    samples = [space.sample() for _ in range(count)]
    if isinstance(samples[0], dict):
        return {name: np.stack([one[name] for one in samples]) for name in samples[0]}
    return np.stack(samples)
