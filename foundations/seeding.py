"""Seeds: one number decides a run, and a checkpoint carries all generators on.

The framework draws from generators of its own (see `Agent.generator`). The global
ones are seeded and saved too, because models and environments of yours may use them.
"""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import torch


def seed_everything(seed: int) -> None:
    """Seed Python's, NumPy's and PyTorch's global generators (all devices)."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def derive_seed(seed: int, purpose: str) -> int:
    """A seed of its own for one purpose, so that neighbouring seeds share nothing.

    Environments are seeded `s, s + 1, ...`: were `s` the run's own seed, run 2 would
    train on almost the same episodes as run 1.

    >>> derive_seed(1, "envs") != derive_seed(1, "evaluation")
    True
    """
    sequence = np.random.SeedSequence([seed, *purpose.encode()])
    return int(sequence.generate_state(1)[0] >> 2)  # room for s + i below 2**31


def restore_generator(generator: torch.Generator, state: torch.Tensor) -> None:
    """Put a generator back to a saved state, which only its kind of device can have.

    On another kind (a GPU's checkpoint on a CPU) it stays as it was seeded, and a
    warning says so.
    """
    if state.numel() == generator.get_state().numel():
        generator.set_state(state.cpu())
        return
    warnings.warn(
        f"the checkpoint's random numbers are of another kind of device than"
        f" {generator.device}: they begin anew, the run is not bitwise the same",
        stacklevel=2,
    )


def rng_state() -> dict[str, Any]:
    """The state of all global generators, as tensors and plain values."""
    version, internal, gauss = random.getstate()
    name, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    words = np.asarray(keys).astype(np.int64)  # PyTorch saves no uint32
    state: dict[str, Any] = {
        "python": [version, torch.tensor(internal, dtype=torch.int64), gauss],
        "numpy": [name, torch.from_numpy(words), position, has_gauss, cached],
        "torch": torch.get_rng_state(),
    }
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state_all()
    return state


def set_rng_state(state: dict[str, Any]) -> None:
    """Put the global generators back to what `rng_state` returned."""
    version, internal, gauss = state["python"]
    random.setstate((version, tuple(internal.tolist()), gauss))
    name, keys, *rest = state["numpy"]
    np.random.set_state((name, keys.numpy().astype(np.uint32), *rest))
    torch.set_rng_state(state["torch"])
    if "cuda" in state and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(state["cuda"])
