"""Random numbers for a batch of worlds: one generator, seeded by one or N seeds."""

import operator
import secrets
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor


@dataclass(eq=False)
class NoiseSource:
    """Uniform numbers in [0, 1), `[size, N]`, one column per environment.

    The `generator`'s seed is unpredictable until `seed` is called; `pending` is the
    noise of the next step, None if steps take none.
    """

    size: int
    num_envs: int
    dtype: torch.dtype
    device: torch.device
    pending: Tensor | None = None

    def __post_init__(self) -> None:
        self.generator = torch.Generator(self.device)
        self.generator.seed()

    def draw(self, count: int | None = None) -> Tensor:
        """New numbers `[size, count or N]`."""
        shape = self.size, self.num_envs if count is None else count
        like = {"dtype": self.dtype, "device": self.device}
        return torch.rand(shape, generator=self.generator, **like)

    def seed(self, seed: Any) -> Tensor:
        """Seed the generator with an int >= 0, or with N ints or None (unpredictable);
        or ValueError. Returns the noise `[size, N]` for first states."""
        several = np.ndim(seed) > 0
        given = list(seed) if several else [seed]
        seeds = [secrets.randbits(63) if s is None else _as_int(s) for s in given]
        if min(seeds, default=-1) < 0 or (several and len(seeds) != self.num_envs):
            allowed = f"an int >= 0, or {self.num_envs} of them (or None)"
            raise ValueError(f"seed = {seed!r}: must be {allowed}")
        if not several:
            self.generator.manual_seed(seeds[0])
            return self.draw()
        (together,) = np.random.SeedSequence(seeds).generate_state(1, np.uint64)
        self.generator.manual_seed(int(together >> np.uint64(1)))
        generator = torch.Generator()  # on the CPU, so that devices do not differ
        columns = [
            torch.rand(self.size, generator=generator.manual_seed(s), dtype=self.dtype)
            for s in seeds
        ]
        return torch.stack(columns, dim=-1).to(self.device)


def _as_int(seed: Any) -> int:
    """A seed as an int, -1 if invalid: 1.5 must not silently become 1."""
    try:
        return operator.index(seed)
    except (TypeError, ValueError):
        return -1
