"""Checks that a buffer fits into memory, before it is allocated."""

from __future__ import annotations

import math
from pathlib import Path

import psutil
import torch

CONTAINERS = (
    ("", "max", "current", "inactive_file"),
    ("memory", "limit_in_bytes", "usage_in_bytes", "total_inactive_file"),
)
"""Where Linux reports a container's memory limit and use: cgroups version 2 and 1."""


def check_memory(
    count: int, entry: int, device: torch.device, *, field: str, value: int
) -> None:
    """Raise MemoryError, which names what would fit, if the device has less free.

    Args:
        count: How many transitions are to be held.
        entry: Bytes that each of them takes.
        device: Where they are to be held.
        field: Name of the config field that decides how many, for the error.
        value: That number.
    """
    needed, free = count * entry, free_memory(device)
    if needed <= free:
        return
    fits = int(0.8 * free) // entry
    most = fits * value // count
    remedy = f"choose {field} = {most:,} or less"
    if most < 1:
        remedy = f"not even {field} = 1 would fit, choose smaller observations"
    raise MemoryError(
        f"{field} = {value:,} takes {needed / 2**30:,.1f} GiB ({count:,} transitions"
        f" of {entry:,} bytes), {device} has {free / 2**30:.1f} GiB free: at most"
        f" {fits:,} transitions would fit comfortably, {remedy}"
    )


def free_memory(device: torch.device) -> float:
    """Bytes that can be taken on a device, as far as the system can say."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        # PyTorch's cache of freed memory can be used as well.
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return free + kept
    return min(psutil.virtual_memory().available, container_memory())


def container_memory(root: Path = Path("/sys/fs/cgroup")) -> float:
    """Bytes left of a container's limit; infinite without one."""
    for folder, limit, used, cached in CONTAINERS:
        try:
            allowed = int((root / folder / f"memory.{limit}").read_text())
            taken = int((root / folder / f"memory.{used}").read_text())
            lines = (root / folder / "memory.stat").read_text().splitlines()
        except (OSError, ValueError):  # no such file; or "max"
            continue
        files = dict(line.split(maxsplit=1) for line in lines).get(cached, 0)
        return max(0, allowed - taken + int(files))  # files in memory make room
    return math.inf
