"""`yieldrl new`: an algorithm's folder as the start of your own."""

from __future__ import annotations

import importlib.util
import keyword
import re
import shutil
import sys
from pathlib import Path

from yieldrl.cli import catalog


def copy(name: str, source: str, into: str | Path = ".") -> str:
    """Copy an algorithm's folder, give the copy its own name, and say what comes next.

    Files of the folder import each other relatively and everything else absolutely, so
    the copy runs from wherever it lies. Only its texts must name the right module.

    Args:
        name: Name of the copy, which Python must be able to import.
        source: The algorithm to copy.
        into: Folder that will hold the copy; made if there is none.

    Raises:
        ValueError: If the name is no good, or there is no such algorithm.
        FileExistsError: If the copy's folder is there already.
    """
    origin, target = catalog.folder(source), Path(into) / name
    _check_name(name)
    if target.exists():
        raise FileExistsError(f"{target} is there already: choose another name")
    _check_free(name)
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")
    shutil.copytree(origin, target, ignore=ignored)
    for path in target.rglob("*.py"):
        text = _renamed(path.read_text("utf-8-sig"), source, name)
        path.write_text(text, encoding="utf-8", newline="\n")
    return _next_steps(target, source)


def _check_name(name: str) -> None:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(
            f"{name!r} is no name that Python can import: use letters, digits and _,"
            " such as my_ppo"
        )


def _check_free(name: str) -> None:
    """Refuse a name that would hide a module, or be hidden by one."""
    spec = importlib.util.find_spec(name)
    if spec is not None or name in sys.stdlib_module_names:
        where = "Python's own" if spec is None or spec.origin is None else spec.origin
        raise ValueError(f"{name!r} hides another module, {where}: choose another name")


def _renamed(text: str, source: str, name: str) -> str:
    """Text that spoke of the algorithm's module and now speaks of the copy's."""
    text = re.sub(rf"\byieldrl train {source}\b", f"python -m {name}", text)
    return re.sub(rf"\b{re.escape(catalog.PACKAGE)}\.{source}\b", name, text)


def _next_steps(target: Path, source: str) -> str:
    files = ", ".join(sorted(path.name for path in target.glob("*.py")))
    lines = [f"{target} is a copy of {source}: {files}", "", "Next:"]
    if target.parent != Path():
        lines.append(f"  cd {target.parent}")
    return "\n".join(
        [
            *lines,
            f"  python -m {target.name} --help",
            f"  python -m {target.name}",
            f"  edit {target.name}/algorithm.py, and run it again",
            "",
            f"It runs as a module: python -m {target.name}, not a file of it.",
        ]
    )
