"""Usage errors: one line on stderr, exit code 2, no traceback."""

import difflib
import io
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from types import MappingProxyType
from typing import NoReturn

from pydantic import ValidationError


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn errors of wrong options, files or packages into one line and exit code 2.

    From here on, characters that the console lacks are printed as escapes.

    It belongs around the preparation of a command. An error while training is no usage
    error and keeps its traceback; `python -X dev -m yieldrl ...`
    keeps all of them.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):  # no notebook's
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:
        # The pipe is closed, as in `yieldrl ... | head`; nothing is left to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except Exception as error:
        expected = ImportError, MemoryError, OSError, TypeError, ValueError
        if not isinstance(error, expected):  # else PyTorch need not be imported
            from gymnasium.error import DependencyNotInstalled

            from yieldrl.core import CheckpointError

            expected = CheckpointError, DependencyNotInstalled
        if sys.flags.dev_mode or not isinstance(error, expected):
            raise
        if isinstance(error, ValidationError):
            from yieldrl.core.checked import in_a_line

            fail(in_a_line(error, error.title))
        fail(str(error))


PLAIN = (
    ("^Error parsing ", ""),
    (r"invalid literal for int\(\) with base 10: ('.*')", r"\1 is no whole number"),
    ("could not convert string to float: ('.*')", r"\1 is no number"),
    (r"no type matching (\S+) could be .* from \[('.*?')\].*", r"\2 is no \1"),
    (
        r"Could not find valid parse for arguments: \[(.*)\]",
        r"\1 does not fit; separate values by spaces, as in 64 64",
    ),
)
"""Words of errors of tyro and of Python, and what is said in their place."""


@contextmanager
def parsing_errors(options: Mapping[str, str] = MappingProxyType({})) -> Iterator[None]:
    """Say in one line what tyro finds wrong; it draws a box, with all of the help.

    tyro suggests options that are spelled like a wrong one. If there is none, `options`
    has those that are meant, by their names and by other words for them.
    """
    box = io.StringIO()
    try:
        with redirect_stderr(box):
            yield
    except SystemExit as exit_:
        if exit_.code != 2:
            raise
        text = box.getvalue().strip()
        rows = (row.strip("│ ") for row in text.splitlines() if row[0] not in "╭╰")
        parts = re.split(" ?[─-]{9,} ?", " ".join(rows).strip())
        said, *others = parts if text[0] == "╭" else parts[1:]  # after a title
        more = f" ({others.pop()})" if others else ""
        for words, plain in PLAIN:
            said = re.sub(words, plain, said)
        names: Iterable[str] = ()
        if others and others[0].startswith("Perhaps you meant"):
            names = dict.fromkeys(re.findall(r"--[\w-]+", others[0]))
        elif word := re.match(r"Unrecognized options: --([\w-]+)", said):
            names = _options_like(word[1].replace("-", "_"), options)
        if names:
            said += f": did you mean {' or '.join(names)}?"
        fail(said + re.sub("For full helptext, (run|see):?", "see", more))


def _options_like(word: str, options: Mapping[str, str]) -> Iterable[str]:
    """What a word says, or its letters begin (`lr`), or else what is spelled alike."""
    short = [x for x in options if "".join(y[:1] for y in x.split("_")) == word]
    close = [word] if word in options else short
    close = close or difflib.get_close_matches(word, options, n=3)
    return dict.fromkeys(f"--{options[x].replace('_', '-')}" for x in close)


def nearest(name: str, known: Iterable[str]) -> str:
    """The nearest known names, or all, as the end of an error message."""
    close = difflib.get_close_matches(name, known := [*known], n=3)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"choose one of {', '.join(known)}"


def fail(message: str) -> NoReturn:
    """Say in one line what was wrong, and exit with code 2."""
    print(f"yieldrl: error: {' '.join(message.split())}", file=sys.stderr)
    raise SystemExit(2)
