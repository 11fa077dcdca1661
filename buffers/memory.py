"""How much memory a buffer takes, asked before it is taken."""

from __future__ import annotations

import math

import psutil
import torch

from yieldrl.foundations import spaces

Spec = dict[spaces.Path, tuple[tuple[int, ...], torch.dtype]]
"""Leaf path -> shape of one entry, dtype."""


def entry_bytes(spec: Spec) -> int:
    """Bytes that one transition of one environment takes."""
    return sum(math.prod(shape) * dtype.itemsize for shape, dtype in spec.values())


def check_memory(rows: int, num_envs: int, spec: Spec, device: torch.device) -> None:
    """Refuse to allocate more than the device has free, before trying to."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
    else:
        free = psutil.virtual_memory().available
    one = entry_bytes(spec)
    needed = rows * num_envs * one
    if needed > free:
        raise MemoryError(
            f"a buffer of {rows} x {num_envs} transitions of {one:,} bytes needs"
            f" {needed / 2**30:.1f} GiB, {device} has {free / 2**30:.1f} GiB free:"
            f" at most {int(0.8 * free / one):,} transitions would fit comfortably"
        )
