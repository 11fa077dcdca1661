"""Which exercises there are, and what an answer to one is read from."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from yieldrl.exercises import checking

PACKAGE = "yieldrl.exercises"
HOME = Path(__file__).parent


def chapters() -> dict[str, Path]:
    """Chapter -> folder of its exercise: `{"ch09": .../ch09_actor_critic_and_gae}`."""
    folders = sorted(path for path in HOME.glob("ch[0-9][0-9]_*") if path.is_dir())
    return {path.name.partition("_")[0]: path for path in folders}


def check(
    chapter: str,
    answer: Mapping[str, Any] | ModuleType | None = None,
    /,
    *,
    file: str | Path | None = None,
    **functions: Any,
) -> bool:
    """Say of every property of an exercise whether an answer has it.

    What is given takes the place of what `exercise.py` has under that name, so that a
    notebook may hold the answer: `check("ch09", gae=my_function)`.

    Args:
        chapter: For example `ch09`; `9` and the name of the folder will do.
        answer: Functions by their names, or a module of them.
        file: Another file than the chapter's `exercise.py`.
        functions: Functions by their names.

    Returns:
        Whether all hold.

    Raises:
        ValueError: If there is no such exercise, or nothing of that name in it.
        FileNotFoundError: If there is no such file.
    """
    folder = find(chapter)
    path = folder / "exercise.py" if file is None else Path(file)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    # A reader's file may hold anything; the solution has the names for sure.
    given = _given(answer, functions, names(folder / "solution.py"))
    what = f"{', '.join(given)} as given" if given else _shown(path)
    print(f"{title(folder)}: {what}")
    try:
        module = load(path, given)
    except (Exception, SystemExit) as error:
        print(f"  FAIL  Python can import it\n        {_reason(error, path)}")
        return False
    checks = importlib.import_module(f"{PACKAGE}.{folder.name}.check")
    return checking.report(module, checking.properties(checks))


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


def title(folder: Path) -> str:
    """What a chapter's exercise is about: the first line of its docstring."""
    text = (folder / "__init__.py").read_text("utf-8-sig")
    return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0].rstrip(".")


def load(path: Path, given: Mapping[str, Any] | None = None) -> ModuleType:
    """A file as a new module, with `given` in the place of what it defines itself."""
    name = f"answer_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for the names in annotations
    spec.loader.exec_module(module)
    vars(module).update(given or {})
    codes = [getattr(part, "__code__", None) for part in (given or {}).values()]
    files = [code.co_filename for code in codes if code is not None]
    vars(module)["__answers__"] = (str(path), *files)
    return module


def names(path: Path) -> list[str]:
    """The functions and classes that a file defines, without importing it."""
    body = ast.parse(path.read_text("utf-8-sig")).body
    return [n.name for n in body if isinstance(n, ast.FunctionDef | ast.ClassDef)]


def _given(
    answer: Mapping[str, Any] | ModuleType | None,
    functions: Mapping[str, Any],
    known: list[str],
) -> dict[str, Any]:
    """What was handed over; of a module only what the exercise asks for.

    Raises:
        ValueError: If the exercise has nothing of that name.
    """
    if isinstance(answer, ModuleType):
        answer = {name: vars(answer)[name] for name in known if hasattr(answer, name)}
    given = {**(answer or {}), **functions}
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ValueError(
            f"nothing in this exercise is called {', '.join(unknown)}: it has"
            f" {', '.join(known)}"
        )
    return given


def _reason(error: BaseException, path: Path) -> str:
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError):
        text = f"{path.name}, line {error.lineno}: {error.msg}"
    return " ".join(text.split())


def _shown(path: Path) -> Path:
    """A path as a person types it here."""
    here = Path.cwd()
    whole = path.resolve()
    return whole.relative_to(here) if whole.is_relative_to(here) else path
