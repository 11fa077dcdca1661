"""The machine that a run uses: which device, how many threads."""

from __future__ import annotations

import os

import torch


def resolve_device(name: str) -> torch.device:
    """The device that a config's `device` names; `auto` takes a GPU if there is one.

    Raises:
        ValueError: If it is not a device, or this machine has none such.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        if device.type == "cuda" and device.index is None:
            device = torch.device("cuda", torch.cuda.current_device())
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as reason:
        first_line = str(reason).splitlines()[0]
        raise ValueError(
            f"device = {name!r}: not usable on this machine ({first_line}); use 'cpu'"
        ) from None
    return device


def set_threads(wanted: int | None, *, images: bool) -> None:
    """Set PyTorch's CPU threads for this process.

    Args:
        wanted: How many. None stands for one where observations are vectors, because
            narrow networks are slower on many threads, and for half of the cores where
            they are images: threads wait for one another by spinning, so with as many
            as cores a single busy core slows all of them down, tenfold at worst.
        images: Whether observations are images.
    """
    if wanted is None:
        wanted = max(1, usable_cores() // 2) if images else 1
    torch.set_num_threads(wanted)


def usable_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
