"""Compiled graphs on disk: made once, loaded in a hundredth of a second ever after."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import torch

FOLDER = "YIELDRL_CACHE"
"""Environment variable that names the folder where compiled graphs are kept."""

MOST_FILES = 200
"""As many are kept, some 2 MB each; those that were not used for longest go first."""


OPTIONS = {
    "fallback_random": True,  # the random numbers that PyTorch would draw
    "aot_inductor.precompile_headers": False,  # pays from the third graph on
    "cpp.use_decompose_tanh": True,  # by exp: a fifth of a narrow network's step
}
"""Of PyTorch's code generator."""


def folder() -> Path:
    """Where compiled graphs are kept; `YIELDRL_CACHE` puts it elsewhere."""
    if FOLDER in os.environ:
        return Path(os.environ[FOLDER])
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home()))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "yieldrl"


def path_of(key: str) -> Path:
    """Where a graph of this key lies, compiled for this machine and these threads."""
    threads = torch.get_num_threads()
    made_for = f"{key} {machine()} {threads} threads {sorted(OPTIONS.items())}"
    name = hashlib.sha256(made_for.encode()).hexdigest()[:32]
    return folder() / "compiled" / f"{name}.pt2"


@cache
def machine() -> str:
    """What compiled code depends on besides its graph, as text."""
    parts = [torch.__version__, sys.platform, platform.machine(), _processor()]
    if torch.cuda.is_available():
        parts.append(torch.cuda.get_device_name())
    return " ".join(parts)


def _processor() -> str:
    """The instructions that the processor knows: generated code uses all of them."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith(("flags", "Features")):
                return line
    return platform.processor()


def knows(kind: str) -> bool:
    """Whether something of this kind was compiled once; a hint, no promise."""
    return _note_of(kind).exists()


def note(kind: str) -> None:
    """Remember that something of this kind was compiled."""
    path = _note_of(kind)
    with suppress(OSError):  # of a folder that is somebody else's
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def _note_of(kind: str) -> Path:
    return path_of(kind).with_suffix(".known")


def used(path: Path) -> None:
    """Note that a file was used now."""
    with suppress(OSError):  # somebody else's, maybe, who shares theirs
        os.utime(path, (time.time(), path.stat().st_mtime))


def tidy() -> None:
    """Throw away what was not used for longest, beyond `MOST_FILES`."""
    files: list[tuple[float, Path]] = []
    for path in (folder() / "compiled").glob("*.pt2"):
        with suppress(OSError):  # another process tidies too
            files.append((path.stat().st_atime, path))
    for _, path in sorted(files)[:-MOST_FILES]:
        with suppress(OSError):
            path.unlink()
