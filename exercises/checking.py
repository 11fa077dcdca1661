"""The run of a `check.py`, property by property, and what it prints.

A property is a function of the reader's module that raises `Wrong` if it does not hold.
The first line of its docstring states it.
"""

import inspect
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from yieldrl.exercises.comparing import Wrong, expect, expect_close

__all__ = ["Property", "Wrong", "expect", "expect_close", "properties", "report"]
__all__ += ["statement", "verdict"]

Property = Callable[[Any], None]


def properties(checks: ModuleType) -> list[Property]:
    """`PROPERTIES` of a `check.py`, or its public functions in their order."""
    if hasattr(checks, "PROPERTIES"):
        return list(checks.PROPERTIES)
    return [
        member
        for name, member in vars(checks).items()
        if inspect.isfunction(member)
        and not name.startswith("_")
        and member.__module__ == checks.__name__
    ]


def statement(holds: Property) -> str:
    """What a property says: the first line of its docstring."""
    return (holds.__doc__ or "").strip().partition("\n")[0].rstrip(".")


def verdict(holds: Property, answer: Any) -> Wrong | None:
    """What is wrong with an answer, or None; it may raise whatever it likes."""
    try:
        holds(answer)
    except Wrong as wrong:
        return wrong
    except NotImplementedError as gap:
        return Wrong("the gap is still open", str(gap))
    except AttributeError as error:
        if error.obj is not answer:
            return _raised(error, answer)
        return Wrong(f"there is no `{error.name}` in it", "keep the names as they were")
    except (Exception, SystemExit) as error:
        return _raised(error, answer)
    return None


def report(
    answer: Any, checks: Sequence[Property], say: Callable[[str], None] = print
) -> bool:
    """Print a line for every property, with what is wrong; return whether all hold."""
    failed, before = 0, ""
    for holds in checks:
        wrong = verdict(holds, answer)
        say(f"  {'pass' if wrong is None else 'FAIL'}  {statement(holds)}")
        if wrong is None:
            continue
        failed += 1
        hint = f"\n        hint: {wrong.hint}" if wrong.hint else ""
        said = f"        {wrong.message}{hint}"
        say("        the same again" if said == before else said)
        before = said
    count = len(checks)
    say(f"{count - failed} of {count} hold" if failed else f"all {count} hold")
    return not failed


def _raised(error: BaseException, answer: Any) -> Wrong:
    """An error of the answer's, with the last line of its own that was running."""
    files = {str(Path(file)) for file in getattr(answer, "__answers__", ())}
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename in files]
    text = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
    if not own:
        return Wrong(f"it raised {text}")
    return Wrong(f"it raised {text}", f"line {own[-1].lineno}: {own[-1].line}")
