"""The run of a `check.py`, property by property, and what it prints.

A property is a function of the reader's module that raises `Wrong` if it does not hold.
The first line of its docstring states it.
"""

import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from yieldrl.exercises.comparing import Wrong

Property = Callable[[Any], None]


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


def properties(checks: ModuleType) -> list[Property]:
    """What a `check.py` asks of an answer."""
    return checks.CHAPTER.properties


def statement(holds: Property) -> str:
    """What a property says: the first line of its docstring."""
    return (holds.__doc__ or "").strip().partition("\n")[0].rstrip(".")


def verdicts(answer: Any, checks: Sequence[Property]) -> Iterator[Verdict]:
    """What holds of an answer, property by property, as it is found."""
    for holds in checks:
        wrong = _wrong(holds, answer)
        if wrong is None:
            yield Verdict(statement(holds), True)
        else:
            yield Verdict(statement(holds), False, wrong.message, wrong.hint)


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


def _wrong(holds: Property, answer: Any) -> Wrong | None:
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


def _raised(error: BaseException, answer: Any) -> Wrong:
    """An error of the answer's, with the last line of its own that was running."""
    files = {str(Path(file)) for file in getattr(answer, "__answers__", ())}
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename in files]
    text = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
    if not own:
        return Wrong(f"it raised {text}")
    return Wrong(f"it raised {text}", f"line {own[-1].lineno}: {own[-1].line}")
