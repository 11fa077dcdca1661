"""`yieldrl new`: an algorithm's folder as the start of your own."""

import importlib.util
import keyword
import re
import shutil
import sys
from pathlib import Path

from yieldrl.cli import catalog

MAIN = '''"""`python -m {} --help` shows the options."""

from yieldrl.cli import train_command

from . import Trainer

if __name__ == "__main__":
    train_command(Trainer)
'''


def copy(name: str, source: str, into: str | Path = ".") -> str:
    """Copy an algorithm's folder, give the copy its own name, and say what comes next.

    Files of the folder import each other relatively and everything else absolutely, so
    the copy runs from wherever it lies. Only its module's name in texts is changed.

    Raises:
        ValueError: If the name is invalid, or there is no such algorithm.
        FileExistsError: If the copy's folder is there already.
    """
    origin, target = catalog.folder(source), Path(into) / name
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(
            f"{name!r} is no name that Python can import: use letters, digits and _,"
            " such as my_ppo"
        )
    if target.exists():
        raise FileExistsError(f"{target} is there already: choose another name")
    spec = importlib.util.find_spec(name)
    if spec is not None or name in sys.stdlib_module_names:
        where = "Python's own" if spec is None or spec.origin is None else spec.origin
        raise ValueError(f"{name!r} hides another module, {where}: choose another name")
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")
    shutil.copytree(origin, target, ignore=ignored)
    for path in target.rglob("*.py"):
        text = path.read_text("utf-8-sig")
        text = re.sub(rf"\byieldrl train {source}\b", f"python -m {name}", text)
        text = re.sub(rf"\b{re.escape(catalog.PACKAGE)}\.{source}\b", name, text)
        path.write_text(text, encoding="utf-8", newline="\n")
    if not (target / "__main__.py").exists():
        (target / "__main__.py").write_text(MAIN.format(name), encoding="utf-8")
    return _next_steps(target, source)


def _next_steps(target: Path, source: str) -> str:
    files = ", ".join(sorted(path.name for path in target.glob("*.py")))
    change_folder = [f"  cd {target.parent}"] if target.parent != Path() else []
    return "\n".join(
        [
            f"{target} is a copy of {source}: {files}",
            "",
            "Next:",
            *change_folder,
            f"  python -m {target.name} --help",
            f"  python -m {target.name}",
            f"  edit {target.name}/algorithm.py, and run it again",
            "",
            f"It runs as a module: python -m {target.name}, not a file of it.",
        ]
    )
