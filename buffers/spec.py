"""The layout of a transition, and checks of memory."""

import logging
import math
from pathlib import Path
from typing import Any

import gymnasium as gym
import psutil
import torch

from yieldrl.core import Utf8Text, spaces

log = logging.getLogger("yieldrl.memory")

Spec = dict[spaces.Path, tuple[tuple[int, ...], torch.dtype]]
"""Leaf path -> shape of one entry, dtype."""


def transition_spec(
    observation_space: gym.Space[Any] | None,
    action_space: gym.Space[Any],
    *,
    next_obs: bool = True,
    exact_obs: bool = False,
) -> Spec:
    """The leaves: obs, next_obs, action, reward, terminated, truncated.

    Without an observation space there is no `obs` and no `next_obs`. With `exact_obs`,
    observations that float32 does not hold are float64.
    """
    spec: Spec = {}
    observed = [] if observation_space is None else [*spaces.leaves(observation_space)]
    for key in ("obs", "next_obs") if next_obs else ("obs",):
        for path, leaf in observed:
            dtype = spaces.tensor_dtype(leaf, exact=exact_obs)
            spec[(key, *path)] = (spaces.shape_of(leaf), dtype)
    # A Gaussian samples real numbers, even if the environment takes bytes.
    real = isinstance(action_space, gym.spaces.Box)
    dtype = torch.float32 if real else spaces.tensor_dtype(action_space)
    if isinstance(action_space, Utf8Text):  # tokens: the vocabulary may exceed uint8
        dtype = torch.int64
    spec["action",] = (spaces.shape_of(action_space), dtype)
    spec["reward",] = ((), torch.float32)
    spec["terminated",] = spec["truncated",] = ((), torch.bool)
    return spec


def entry_bytes(spec: Spec) -> int:
    """Bytes of one transition of one environment."""
    return sum(math.prod(shape) * dtype.itemsize for shape, dtype in spec.values())


def copied(spec: Spec) -> int:
    """Bytes of a transition in an epoch's shuffled copy."""
    drawn = {path: spec[path] for path in spec if path[0] in ("obs", "action")}
    # The copy also has log_prob, value, advantage, returns and an index.
    return entry_bytes(drawn) + 4 * 4 + 8


def check_at_least_one(**sizes: int | None) -> None:
    """Raise ValueError if a keyword argument is less than 1."""
    for name, size in sizes.items():
        if size is not None and size < 1:
            raise ValueError(f"{name} = {size}: choose at least 1")


def check_memory(
    count: int, entry: int, device: torch.device, *, field: str, value: int
) -> None:
    """Raise MemoryError, with a size that fits, if the device has less free memory.

    The config's `field`, of `value`, needs `count` transitions of `entry` bytes, which
    the log `yieldrl.memory` says: as a warning of a gibibyte or more.
    """
    needed, free = count * entry, free_memory(device)
    if needed <= free:
        level = logging.WARNING if needed >= 2**30 else logging.INFO
        sizes = needed / 2**30, free / 2**30
        log.log(
            level, "%s = %d: %.2f of %.1f GiB free on %s", field, value, *sizes, device
        )
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
    """Free bytes on a device, as far as the system reports them."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        # PyTorch's cache of freed memory can be used as well.
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return free + kept
    return min(psutil.virtual_memory().available, container_memory())


def container_memory(root: Path = Path("/sys/fs/cgroup")) -> float:
    """Bytes left of a container's limit (Linux cgroups); infinite without one."""
    try:
        allowed = int((root / "memory.max").read_text())
        taken = int((root / "memory.current").read_text())
        lines = (root / "memory.stat").read_text().splitlines()
    except (OSError, ValueError):  # no such file; or "max"
        return math.inf
    cached = int(dict(line.split() for line in lines).get("inactive_file", 0))
    return max(0, allowed - taken + cached)  # the page cache can be freed
