"""Device, CPU threads and memory settings of a run."""

import ctypes
import logging
import os
import sys

import torch

from yieldrl.core.ranks import ranks

log = logging.getLogger("yieldrl.threads")


def resolve_device(name: str) -> torch.device:
    """The device for a config's `device`; `auto` prefers a GPU. Or ValueError."""
    ranks()  # sets the GPU that "cuda" means in this process
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return usable_device(name)


def usable_device(name: str | torch.device) -> torch.device:
    """The device of this name, with the GPU's index; ValueError if there is none."""
    try:
        device = torch.device(name)
        if device.type == "meta":
            raise RuntimeError("its tensors hold no numbers")
        if device.type == "cuda" and device.index is None:
            device = torch.device("cuda", torch.cuda.current_device())
        torch.empty(0, device=device)
    except (AssertionError, NotImplementedError, RuntimeError, TypeError) as reason:
        first_line = str(reason).splitlines()[0]
        raise ValueError(
            f"device = {str(name)!r}: not usable on this machine ({first_line}); use"
            " 'cpu'"
        ) from None
    return device


def set_threads(wanted: int | None, *, images: bool) -> None:
    """Set PyTorch's CPU threads for this process.

    None means one thread for vector observations, because narrow networks are slower
    on several threads, and half of the cores for images. Threads wait for each other
    by spinning: with one thread per core, a single core that is busy with something
    else slows all of them down.
    """
    cores, why = usable_cores(), "as asked for"
    if wanted is None:
        beside = int(os.environ.get("LOCAL_WORLD_SIZE", 1))  # set by torchrun
        wanted = max(1, cores // (2 * beside)) if images else 1
        why = "for images" if images else "for vectors"
    torch.set_num_threads(wanted)
    log.info("threads: %d of %d cores, %s", wanted, cores, why)


def keep_freed_memory() -> None:
    """Make the C library keep freed tensor memory, up to half a gigabyte.

    By default glibc returns free memory at the top of its heap to the system, and the
    next gradient step requests it again page by page: half the time of some steps.
    """
    library = ctypes.CDLL(None) if os.name == "posix" else None
    if (mallopt := getattr(library, "mallopt", None)) is not None:
        for option, size in _KEPT.items():
            mallopt(option, size)


_KEPT = {
    -1: 1 << 29,  # M_TRIM_THRESHOLD: bytes kept free at the top of the heap
    -2: 1 << 24,  # M_TOP_PAD: bytes requested in addition to those needed
    -3: 1 << 26,  # M_MMAP_THRESHOLD: larger blocks are mapped alone, and returned
}


def has_screen() -> bool:
    """Whether there is a screen for windows, as far as the environment says."""
    named = map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY"))
    return sys.platform != "linux" or any(named)


def draw_without_screen() -> None:
    """Let pygame draw pictures without looking for a screen where there is none: the
    search prints `error: XDG_RUNTIME_DIR is invalid or not set`."""
    if not has_screen():
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")


def usable_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
