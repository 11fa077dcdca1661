"""The folder of PyTorch's compiled code, which no other user may write into."""

import atexit
import hashlib
import json
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import torch

VARIABLE = "TORCHINDUCTOR_CACHE_DIR"  # PyTorch's; set it to choose another folder
CHECKSUMS, NOTES = "checksums.json", "yieldrl"


@cache
def prepare() -> str:
    """Choose the folder, before the first function is compiled; a sentence about it.

    Files that were changed are deleted, so that PyTorch makes them anew. Where it is
    not safe, or cannot be written, it is a temporary one.
    """
    wanted = folder()
    if (reason := _unsafe(wanted)) is None:
        os.environ[VARIABLE] = str(wanted)
        known, _ = _known(wanted)
        for name, path in _files(wanted).items():
            with suppress(OSError):
                if known.get(name) not in (None, _checksum(path)):
                    path.unlink(missing_ok=True)
        atexit.register(write_checksums)
        return f"its code is kept in {wanted}"
    own = tempfile.mkdtemp(prefix="yieldrl-")
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    os.environ[VARIABLE] = own
    return f"its code is not kept: {reason}"


def folder() -> Path:
    """The folder that is used if it is safe."""
    given = os.environ.get(VARIABLE)
    # PyTorch itself sets the variable, to its own default, which any user may make.
    if given and not Path(given).name.startswith("torchinductor_"):
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return Path(base or os.path.expanduser("~/.cache")) / "yieldrl" / "torch"


def write_checksums() -> None:
    """Write down what each file of the folder holds that is new in it."""
    of = folder()
    with suppress(OSError):
        known, since = _known(of)
        for name, path in _files(of).items():
            if name not in known or path.stat().st_mtime_ns > since:
                known[name] = _checksum(path)
        _write(of / CHECKSUMS, json.dumps(known))


def _write(path: Path, text: str) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_text(text)
    part.replace(path)


def missing_compiler() -> str | None:
    """Why nothing can be compiled for a CPU, as a sentence; None if it can."""
    if os.name == "nt" or shutil.which("g++") or shutil.which("clang++"):
        return None
    return "there is no C++ compiler (g++ or clang++): install one to train faster"


def digest_of(classes: Iterable[type[Any]]) -> str:
    """A digest of the code of classes and their bases, but for PyTorch's own."""
    found = hashlib.sha256()
    for cls in dict.fromkeys(base for each in classes for base in each.__mro__):
        if cls.__module__.partition(".")[0] not in ("torch", "builtins", "abc"):
            found.update(_source_of(cls))
    return found.hexdigest()


def _source_of(cls: type[Any]) -> bytes:
    """The file that defines it; without one, as in a notebook, its functions."""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    if file is not None:
        with suppress(OSError):
            return Path(file).read_bytes()
    source = b""
    for code in [x.__code__ for x in vars(cls).values() if hasattr(x, "__code__")]:
        plain = [x for x in code.co_consts if isinstance(x, int | float | str)]
        source += code.co_code + repr(plain).encode()
    return source


def read_note(kind: str) -> dict[str, Any]:
    """By function: seconds gained per step, and to load it; or why there is no code."""
    with suppress(OSError, ValueError, TypeError, AttributeError, IndexError):
        return {
            name: known if isinstance(known, str) else [float(x) for x in known]
            for name, known in json.loads(_note(kind).read_text()).items()
            if isinstance(known, str) or len(known) == 2
        }
    return {}


def write_note(kind: str, note: Mapping[str, Any]) -> None:
    """Keep what was found out about runs of this kind, if that is possible."""
    with suppress(OSError):
        _note(kind).parent.mkdir(parents=True, exist_ok=True)
        _write(_note(kind), json.dumps(note))


def _note(kind: str) -> Path:
    made_for = f"{torch.__version__} {torch.get_num_threads()} {kind}"
    name = hashlib.sha256(made_for.encode()).hexdigest()[:32]
    return folder() / NOTES / f"{name}.json"


def _unsafe(wanted: Path) -> str | None:
    """Why no code may be loaded from a folder; None if it may. Makes the folder."""
    try:
        wanted.mkdir(mode=0o700, parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=wanted).close()
        return None if os.name == "nt" else _open_to_others(wanted.resolve())
    except OSError as reason:
        return f"{wanted} cannot be written ({reason.strerror})"


def _open_to_others(wanted: Path) -> str | None:
    """Which folder on the way another user owns, or may write into."""
    for part in (wanted, *wanted.parents):
        status = part.stat()
        if status.st_uid not in (os.geteuid(), 0):
            return f"{part} belongs to another user"
        shared = bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
        if shared and (part == wanted or not status.st_mode & stat.S_ISVTX):
            return f"{part} can be written by other users"
    return None


def _known(of: Path) -> tuple[dict[str, str], int]:
    """Checksums by file, and when they were written, in nanoseconds."""
    with suppress(OSError, ValueError):
        path = of / CHECKSUMS
        known, since = json.loads(path.read_text()), path.stat().st_mtime_ns
        if isinstance(known, dict):
            return known, since
    return {}, 0


def _files(of: Path) -> dict[str, Path]:
    """PyTorch's files, by their names; notes are checked when they are read."""
    found = [p for p in of.rglob("*") if p.name != CHECKSUMS and p.parent.name != NOTES]
    return {str(p.relative_to(of)): p for p in found if p.is_file()}


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
