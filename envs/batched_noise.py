"""The random numbers of `TorchVectorEnv` (always `envs`): of seeds, and of steps."""

from __future__ import annotations

import operator
import secrets
from typing import Any

import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from torch import Tensor


def renewed(envs: Any, ended_before: Tensor) -> Tensor | None:
    """Noise for the next step, if it takes any: at least new where this step used it.

    On a GPU all of it, so that nobody waits. On a CPU looking is free, and in large
    batches drawing for the few that reset saves a quarter of CartPole's step.
    """
    noise = envs._noise
    if noise is None:
        return None
    if not noise.is_cpu or noise.numel() < 4096 or envs._chance:
        return envs.draw_noise()
    at_once = envs.autoreset_mode is AutoresetMode.SAME_STEP
    columns = (envs._ended if at_once else ended_before).nonzero().view(-1)
    return noise.index_copy(1, columns, envs.draw_noise(len(columns)))


def whole(seed: Any) -> int:
    """A seed as an int, -1 if it is none: 1.5 would be the seed 1 in silence."""
    try:
        return operator.index(seed)
    except (TypeError, ValueError):
        return -1


def seeded_noise(envs: Any, seed: Any) -> Tensor:
    """Seed the generator; the noise `[noise_size, N]` for the first states.

    Among several seeds None is one that nobody knows, as in gymnasium.
    """
    several = np.ndim(seed) > 0
    given = list(seed) if several else [seed]
    seeds = [secrets.randbits(63) if s is None else whole(s) for s in given]
    if min(seeds, default=-1) < 0 or (several and len(seeds) != envs.num_envs):
        raise ValueError(
            f"seed = {seed!r}: must be an int >= 0, or {envs.num_envs} of them (or"
            " None)"
        )
    if not several:
        envs.generator.manual_seed(seeds[0])
        return envs.draw_noise()
    (together,) = np.random.SeedSequence(seeds).generate_state(1, np.uint64)
    envs.generator.manual_seed(int(together >> np.uint64(1)))
    own = torch.Generator()  # on the CPU, so that a seed means the same everywhere
    columns = [
        torch.rand(envs.noise_size, generator=own.manual_seed(s), dtype=envs.dtype)
        for s in seeds
    ]
    return torch.stack(columns, dim=-1).to(envs.device)
