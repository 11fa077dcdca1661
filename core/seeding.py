"""Seeds: one number determines a run; checkpoints store the state of all generators.

The framework uses generators of its own, each with a seed derived for its purpose.
The global ones are used to initialise networks, right after they were seeded, and by
users' code. What cannot be given a generator, such as dropout, draws from PyTorch's
global one inside `drawing_from`.
"""

import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


def seed_everything(seed: int) -> None:
    """Seed the global generators of Python, NumPy and PyTorch; seed below 2**32."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def derive_seed(seed: int, purpose: str) -> int:
    """The seed of one generator of a run, independent of those of other generators.

    Two generators with the same seed draw the same numbers. And environments are seeded
    `s, s + 1, ...`: if `s` were the run's seed, run 2 would train on almost the same
    episodes as run 1. It is below 2**30, so that `s + i` stays below 2**31. The
    `purpose` is `"envs"`, `"evaluation"`, `"exploration"`, `"buffer"` (samples, the
    order of minibatches), or a name of your own.
    """
    sequence = np.random.SeedSequence([seed, *purpose.encode()])
    return int(sequence.generate_state(1)[0] >> 2)  # from 32 bits to 30


def is_traced() -> bool:
    """Whether the code that asks is being compiled or exported.

    `torch.compiler.is_compiling()` says so in every thread while one of them compiles.
    """
    return torch.compiler.is_dynamo_compiling() or torch.compiler.is_exporting()


@contextmanager
def drawing_from(generator: torch.Generator) -> Iterator[None]:
    """A context in which PyTorch's global generator of a device is `generator`.

    So what is drawn inside, without naming a generator, does not depend on what others
    drew before, nor change what they draw later. On devices other than CPUs and CUDA's
    nothing changes.
    """
    device = generator.device
    if device.type not in ("cpu", "cuda"):
        yield
        return
    shared = torch.default_generator
    if device.type == "cuda":
        shared = torch.cuda.default_generators[device.index or 0]
    before = shared.get_state()
    shared.set_state(generator.get_state())
    try:
        yield
    finally:
        generator.set_state(shared.get_state())
        shared.set_state(before)


def restore_generator(generator: torch.Generator, state: torch.Tensor) -> None:
    """Restore a saved state, uint8; of another device type: warn and leave it."""
    if state.numel() == generator.get_state().numel():
        generator.set_state(state.cpu())
        return
    warnings.warn(
        f"the checkpoint's generator is of another kind of device than"
        f" {generator.device}: its numbers begin anew, and the run will not be bitwise"
        " the one that was interrupted",
        stacklevel=2,
    )


def rng_state() -> dict[str, Any]:
    """The state of all global generators, as tensors and plain values."""
    version, internal, gauss = random.getstate()
    name, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    words = np.asarray(keys).astype(np.int64)  # PyTorch cannot save uint32
    state: dict[str, Any] = {
        "python": [version, torch.tensor(internal, dtype=torch.int64), gauss],
        "numpy": [name, torch.from_numpy(words), position, has_gauss, cached],
        "torch": torch.get_rng_state(),
    }
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state_all()
    return state


def set_rng_state(state: dict[str, Any]) -> None:
    """Set the global generators to the state that `rng_state` returned."""
    version, internal, gauss = state["python"]
    random.setstate((version, tuple(internal.tolist()), gauss))
    name, keys, *rest = state["numpy"]
    np.random.set_state((name, keys.numpy().astype(np.uint32), *rest))
    torch.set_rng_state(state["torch"])
    if "cuda" in state and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(state["cuda"])
