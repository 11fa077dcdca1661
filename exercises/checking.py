"""What is said of an answer, property by property, and what an answer is read from."""

import contextlib
import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from yieldrl.exercises.comparing import Wrong
from yieldrl.exercises.gaps import PACKAGE, definitions, find, gaps, opened, title

Property = Callable[[Any], None]
"""A function of the reader's module that raises `Wrong` if it does not hold."""


class Verdict(NamedTuple):
    """Whether an answer has a property.

    Attributes:
        property: What is asked of it, in one sentence.
        passed: Whether it has it.
        message: If not, what was found and what was expected.
        hint: The mistake, if it is a known one, or where to look; it may be empty.
    """

    property: str
    passed: bool
    message: str = ""
    hint: str = ""


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
    return report(found)


def grade(chapter: str, file: str | Path | None = None) -> bool:
    """Print what `check` finds as JSON, for a program; the arguments are the same.

    A list with an object for each property: `property`, `passed`, `message` and `hint`.
    What the answer itself prints goes to standard error.
    """
    with contextlib.redirect_stdout(sys.stderr):
        found = list(_read(chapter, file, {})[1])
    print(json.dumps([verdict._asdict() for verdict in found], indent=2))
    return all(verdict.passed for verdict in found)


def verdicts(answer: Any, properties: Mapping[str, Property]) -> Iterator[Verdict]:
    """What holds of an answer, property by property, as it is found."""
    for says, holds in properties.items():
        wrong = _wrong(holds, answer)
        said = (wrong.message, wrong.hint) if wrong else ()
        yield Verdict(says, wrong is None, *said)


def report(found: Iterable[Verdict], say: Callable[[str], None] = print) -> bool:
    """Print a line for every property, with what is wrong; return whether all hold."""
    count, failed, before = 0, 0, ""
    for says, passed, message, hint in found:
        count += 1
        say(f"  {'pass' if passed else 'FAIL'}  {says}")
        if passed:
            continue
        failed += 1
        said = f"        {message}" + (f"\n        hint: {hint}" if hint else "")
        say("        the same again" if said == before else said)
        before = said
    say(f"{count - failed} of {count} hold" if failed else f"all {count} hold")
    return not failed


def load(folder: Path, path: Path, given: Mapping[str, Any]) -> ModuleType:
    """An answer: a file that may hold no more than what belongs in the gaps, and what a
    caller puts in the place of it."""
    if path.suffix != ".py":
        raise ImportError(f"{path} is no Python file: its name must end in .py")
    module = ModuleType(f"answer_{path.stem}")
    sys.modules[module.__name__] = module  # where dataclasses look for names
    exercise = folder / "exercise.py"
    _run(opened(folder), exercise, module)
    if path.exists():
        for gap in gaps(folder):
            delattr(module, gap)
        _run(path.read_text("utf-8-sig"), path, module)
    vars(module).update(given)
    codes = [getattr(part, "__code__", None) for part in given.values()]
    files = [code.co_filename for code in codes if code is not None]
    vars(module)["__answers__"] = (str(exercise), str(path), *files)
    return module


def _run(text: str, path: Path, module: ModuleType) -> None:
    """Run a file's text in a module."""
    vars(module)["__file__"] = str(path)
    exec(compile(text, str(path), "exec", dont_inherit=True), vars(module))


def _read(
    chapter: str, file: str | Path | None, given: Mapping[str, Any]
) -> tuple[str, Iterator[Verdict]]:
    """What is checked, in words, and what is found, property by property."""
    folder = find(chapter)
    has_gap = definitions(folder)
    if unknown := sorted(given.keys() - has_gap):
        there = ", ".join(sorted(has_gap, key=lambda name: not has_gap[name]))
        lost = ", ".join(unknown)
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
        yield Verdict("Python can import it", False, _said(error))
        return
    checks = importlib.import_module(f"{PACKAGE}.{folder.name}.check")
    yield from verdicts(module, checks.CHAPTER.properties)


def _wrong(holds: Property, answer: Any) -> Wrong | None:
    """What is wrong with an answer, or None; it may raise whatever it likes."""
    try:
        holds(answer)
    except Wrong as wrong:
        return wrong
    except NotImplementedError as gap:
        return Wrong("the gap is still open", str(gap))
    except (Exception, SystemExit) as error:
        if isinstance(error, AttributeError) and error.obj is answer:
            lost = f"there is no `{error.name}` in it"
            return Wrong(lost, "keep the names as they were")
        files = {str(Path(file)) for file in getattr(answer, "__answers__", ())}
        frames = traceback.extract_tb(error.__traceback__)
        lines = [
            f"line {of.lineno}: {of.line}" for of in frames if of.filename in files
        ]
        return Wrong(f"it raised {_said(error)}", lines[-1] if lines else "")
    return None


def _said(error: BaseException) -> str:
    """The name of an error and what it says, in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
