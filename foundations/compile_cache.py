"""The folder of PyTorch's compiled code, which other users must not write to."""

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

VARIABLE = "TORCHINDUCTOR_CACHE_DIR"  # read by PyTorch; set it to choose another folder
CHECKSUMS, NOTES = "checksums.json", "yieldrl"


@cache
def prepare() -> str:
    """Choose the folder before the first compilation; return a sentence about it.

    Files that were modified are deleted, so that PyTorch compiles them again. If the
    folder is unsafe or not writable, a temporary one is used.
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
    """The preferred folder, used if it is safe."""
    given = os.environ.get(VARIABLE)
    # PyTorch sets the variable to its own default, which any user could create.
    if given and not Path(given).name.startswith("torchinductor_"):
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return Path(base or os.path.expanduser("~/.cache")) / "yieldrl" / "torch"


def write_checksums() -> None:
    """Save the checksums of new files in the folder."""
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
    """Why compiling for the CPU is impossible, as a sentence; None if possible."""
    if os.name == "nt" or shutil.which("g++") or shutil.which("clang++"):
        return None
    return "there is no C++ compiler (g++ or clang++): install one to train faster"


def digest_of(classes: Iterable[type[Any]]) -> str:
    """A digest of the code of classes and their bases, PyTorch's excluded."""
    found = hashlib.sha256()
    for cls in dict.fromkeys(base for each in classes for base in each.__mro__):
        if cls.__module__.partition(".")[0] not in ("torch", "builtins", "abc"):
            found.update(_source_of(cls))
    return found.hexdigest()


def _source_of(cls: type[Any]) -> bytes:
    """The source file of a class; in a notebook, without one, its functions' code."""
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
    """Per function: seconds saved per step and to load; or why it has no code."""
    with suppress(OSError, ValueError, TypeError, AttributeError, IndexError):
        return {
            name: known if isinstance(known, str) else [float(x) for x in known]
            for name, known in json.loads(_note(kind).read_text()).items()
            if isinstance(known, str) or len(known) == 2
        }
    return {}


def write_note(kind: str, note: Mapping[str, Any]) -> None:
    """Save `note` for runs of this kind, if the folder is writable."""
    with suppress(OSError):
        _note(kind).parent.mkdir(parents=True, exist_ok=True)
        _write(_note(kind), json.dumps(note))


def _note(kind: str) -> Path:
    made_for = f"{torch.__version__} {torch.get_num_threads()} {kind}"
    name = hashlib.sha256(made_for.encode()).hexdigest()[:32]
    return folder() / NOTES / f"{name}.json"


def _unsafe(wanted: Path) -> str | None:
    """Why loading code from a folder is unsafe; None if safe. Makes the folder."""
    try:
        wanted.mkdir(mode=0o700, parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=wanted).close()
        return None if os.name == "nt" else _open_to_others(wanted.resolve())
    except OSError as reason:
        return f"{wanted} cannot be written ({reason.strerror})"


def _open_to_others(wanted: Path) -> str | None:
    """The first folder of the path that another user owns or may write to."""
    for part in (wanted, *wanted.parents):
        status = part.stat()
        if status.st_uid not in (os.geteuid(), 0):
            return f"{part} belongs to another user"
        shared = bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
        if shared and (part == wanted or not status.st_mode & stat.S_ISVTX):
            return f"{part} can be written by other users"
    return None


def _known(of: Path) -> tuple[dict[str, str], int]:
    """Checksums by file, and the time they were written at, in nanoseconds."""
    with suppress(OSError, ValueError):
        path = of / CHECKSUMS
        known, since = json.loads(path.read_text()), path.stat().st_mtime_ns
        if isinstance(known, dict):
            return known, since
    return {}, 0


def _files(of: Path) -> dict[str, Path]:
    """PyTorch's files by name, without notes, which are checked when read."""
    found = [p for p in of.rglob("*") if p.name != CHECKSUMS and p.parent.name != NOTES]
    return {str(p.relative_to(of)): p for p in found if p.is_file()}


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
