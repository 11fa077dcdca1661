"""Which exercises there are, and what an answer to one is read from."""

import ast
import contextlib
import importlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from yieldrl.exercises import checking
from yieldrl.exercises.checking import Verdict
from yieldrl.exercises.gaps import PACKAGE, gaps, opened, title

HOME = Path(__file__).parent


def chapters() -> dict[str, Path]:
    """Chapter -> folder of its exercise: `{"ch09": .../ch09_actor_critic_and_gae}`."""
    folders = sorted(path for path in HOME.glob("ch[0-9][0-9]_*") if path.is_dir())
    return {path.name.partition("_")[0]: path for path in folders}


def check(chapter: str, /, *, file: str | Path | None = None, **functions: Any) -> bool:
    """Say of every property of an exercise whether an answer has it.

    What is given takes the place of what `exercise.py` has under that name, so that a
    notebook may hold the answer: `check("ch09", gae=my_function)`.

    Args:
        chapter: For example `ch09`; `9` and the name of the folder will do.
        file: Another file than the chapter's `exercise.py`, which is made with its
            gaps open if it is not there.
        functions: Functions by their names.

    Returns:
        Whether all hold.

    Raises:
        ValueError: If there is no such exercise, or nothing of that name in it.
        FileNotFoundError: If there is no such file.
    """
    what, found = _read(chapter, file, functions)
    print(what)
    return checking.report(found)


def grade(chapter: str, file: str | Path | None = None) -> bool:
    """Print what `check` finds as JSON, for a program; the arguments are the same.

    A list with an object for each property: `property`, `passed`, `message` and `hint`.
    What the answer itself prints goes to standard error.
    """
    with contextlib.redirect_stdout(sys.stderr):
        found = list(_read(chapter, file, {})[1])
    print(json.dumps([verdict._asdict() for verdict in found], indent=2))
    return all(verdict.passed for verdict in found)


def _read(
    chapter: str, file: str | Path | None, given: Mapping[str, Any]
) -> tuple[str, Iterator[Verdict]]:
    """What is checked, in words, and what is found, property by property."""
    folder = find(chapter)
    body = ast.parse(opened(folder)).body
    kinds = ast.FunctionDef, ast.ClassDef
    names = [part.name for part in body if isinstance(part, kinds)]
    known = dict.fromkeys([*gaps(folder), *names])  # those that have a gap first
    if unknown := sorted(given.keys() - known):
        lost, there = ", ".join(unknown), ", ".join(known)
        raise ValueError(f"nothing in this exercise is called {lost}: it has {there}")
    path = folder / "exercise.py" if file is None else Path(file)
    if file is not None and not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    shown = os.path.relpath(path)
    if not given and not path.exists():
        path.write_text(opened(folder), "utf-8")
        print(f"made {shown}, which has gaps to fill")
    what = f"{', '.join(given)} as given" if given else shown
    return f"{title(folder)}: {what}", _found(folder, path, given)


def _found(folder: Path, path: Path, given: Mapping[str, Any]) -> Iterator[Verdict]:
    try:
        module = load(folder, path, given)
    except (Exception, SystemExit) as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        yield Verdict("Python can import it", False, said)
        return
    checks = importlib.import_module(f"{PACKAGE}.{folder.name}.check")
    yield from checking.verdicts(module, checking.properties(checks))


def find(chapter: str) -> Path:
    """The folder of a chapter's exercise.

    Raises:
        ValueError: If it has none; the message says which there are.
    """
    known = chapters()
    name = chapter.partition("_")[0].lower().removeprefix("ch")
    key = f"ch{int(name):02}" if name.isdecimal() else chapter
    if key not in known:
        listed = ", ".join(known)
        raise ValueError(f"no exercise is called {chapter!r}: choose one of {listed}")
    return known[key]


def load(
    folder: Path, path: Path, given: Mapping[str, Any] | None = None
) -> ModuleType:
    """An answer: a file that may hold no more than what belongs in the gaps, and what a
    caller puts in the place of it."""
    name = f"answer_{path.stem}"
    if path.suffix != ".py":
        raise ImportError(f"{path} is no Python file: its name must end in .py")
    module = ModuleType(name)
    sys.modules[name] = module  # where dataclasses look for the names in annotations
    exercise = folder / "exercise.py"
    own = path.resolve() == exercise.resolve()
    if not (own and path.exists()):
        _run(opened(folder), exercise, module)
    if not own:
        for gap in gaps(folder):
            vars(module).pop(gap, None)
    if path.exists():
        _run(path.read_text("utf-8-sig"), path, module)
    vars(module).update(given or {})
    codes = [getattr(part, "__code__", None) for part in (given or {}).values()]
    files = [code.co_filename for code in codes if code is not None]
    vars(module)["__answers__"] = (str(exercise), str(path), *files)
    return module


def _run(text: str, path: Path, module: ModuleType) -> None:
    """Run a file's text in a module."""
    vars(module)["__file__"] = str(path)
    exec(compile(text, str(path), "exec", dont_inherit=True), vars(module))
