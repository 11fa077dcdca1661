"""Which exercises there are, and what an answer to one is read from."""

import ast
import importlib
import sys
from collections.abc import Mapping, Sequence
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
    exercise, solution = folder / "exercise.py", folder / "solution.py"
    path = exercise if file is None else Path(file)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    # A reader's file may hold anything; the solution has the gaps for sure.
    known = [*names(solution), *_names_if_valid(exercise)]
    given = _given(answer, functions, list(dict.fromkeys(known)))
    what = f"{', '.join(given)} as given" if given else _shown(path)
    print(f"{title(folder)}: {what}")
    try:
        module = load(exercise, path, gaps=names(solution), given=given)
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


def load(
    exercise: Path,
    path: Path,
    gaps: Sequence[str] = (),
    given: Mapping[str, Any] | None = None,
) -> ModuleType:
    """An answer: `exercise.py`, whose helpers need not be repeated, with what the file
    `path` puts in the place of its `gaps`, and a caller in the place of both."""
    name = f"answer_{path.stem}"
    if path.suffix != ".py":
        raise ImportError(f"{path} is no Python file: its name must end in .py")
    module = ModuleType(name)
    sys.modules[name] = module  # where dataclasses look for the names in annotations
    _run(exercise, module)
    if path.resolve() != exercise.resolve():
        for gap in gaps:
            vars(module).pop(gap, None)
        _run(path, module)
    vars(module).update(given or {})
    codes = [getattr(part, "__code__", None) for part in (given or {}).values()]
    files = [code.co_filename for code in codes if code is not None]
    vars(module)["__answers__"] = (str(exercise), str(path), *files)
    return module


def _run(path: Path, module: ModuleType) -> None:
    """Run a file in a module."""
    vars(module)["__file__"] = str(path)
    text = path.read_text("utf-8-sig")
    exec(compile(text, str(path), "exec", dont_inherit=True), vars(module))


def names(path: Path) -> list[str]:
    """The functions and classes that a file defines, without importing it."""
    body = ast.parse(path.read_text("utf-8-sig")).body
    return [n.name for n in body if isinstance(n, ast.FunctionDef | ast.ClassDef)]


def _names_if_valid(path: Path) -> list[str]:
    """Those of a file that Python can read; none of another."""
    try:
        return names(path)
    except SyntaxError:
        return []


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
        name = Path(error.filename or path).name
        text = f"{name}, line {error.lineno}: {error.msg}"
    return " ".join(text.split())


def _shown(path: Path) -> Path:
    """A path as a person types it here."""
    here = Path.cwd()
    whole = path.resolve()
    return whole.relative_to(here) if whole.is_relative_to(here) else path
