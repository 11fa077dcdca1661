"""The machine that a run uses: which device, how many threads."""

from __future__ import annotations

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
            narrow networks are slower on many threads, and for PyTorch's own choice
            where they are images.
        images: Whether observations are images.
    """
    if wanted is not None:
        torch.set_num_threads(wanted)
    elif not images:
        torch.set_num_threads(1)
