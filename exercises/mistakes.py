"""Mistakes as data: changes to a solution, each with the hint that names it.

If an answer gives what a changed solution gives, it has that mistake; an answer that
gives something else has another one, of which nothing is said.
"""

import re
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

from yieldrl.exercises.comparing import Results, difference
from yieldrl.exercises.gaps import GAP

Change = tuple[str, str]
"""A part of a solution's text, and what to put in its place."""


def parse(table: str) -> list[tuple[str, str, str]]:
    r"""The mistakes of a table: what to change, into what, and what to say of it.

    It has lines `old => new`, one for each way to make a mistake, and below them,
    indented, the hint. Line breaks in the code are written `\n`. Of several mistakes
    that give what an answer gives the first is named. A hint `-` is none: such a
    mistake must be noticed, and no more.

    >>> parse("x + y => x - y\n    the sign is wrong")
    [('x + y', 'x - y', 'the sign is wrong')]
    """
    mistakes = []
    for changes, hint in re.findall(r"((?:^\S.*\n)+)((?:^ .*\n?)+)", table, re.M):
        for change in changes.splitlines():
            old, _, new = change.replace(r"\n", "\n").partition(" =>")
            says = " ".join(hint.split()).strip("-")
            mistakes.append((old, new.removeprefix(" "), says))
    return mistakes


class Solution:
    """A chapter's `solution.py`, and what `mistakes.txt` beside it says of it.

    Args:
        folder: The chapter's folder.
        also: Changes that leave the solution right, though its numbers are others.
    """

    def __init__(self, folder: Path, also: Sequence[Change] = ()) -> None:
        self.path, self.also = folder / "solution.py", also
        self.text = self.path.read_text("utf-8")
        self.mistakes = parse((folder / "mistakes.txt").read_text("utf-8"))

    @cached_property
    def all_right(self) -> list[ModuleType]:
        """The file as a module, and with each of the changes that leave it right."""
        return [self.changed(), *map(self.changed, self.also)]

    @property
    def right(self) -> ModuleType:
        """The file as a module."""
        return self.all_right[0]

    def changed(self, *changes: Change) -> ModuleType:
        """The file as a module, with parts of its text replaced, in its gaps or, if
        they are not there, elsewhere.

        Raises:
            ValueError: If such a part is not there, or more than once.
        """
        text = self.text
        for old, new in changes:
            gaps = [gap.span(3) for gap in GAP.finditer(text)]
            found = [part.span() for part in re.finditer(re.escape(old), text)]
            inside = [
                (at, end) for at, end in found for a, b in gaps if a <= at < end <= b
            ]
            if len(inside or found) != 1:
                raise ValueError(f"{old!r} is not once in {self.path}")
            [(at, end)] = inside or found
            text = text[:at] + new + text[end:]
        module = ModuleType(f"changed_{self.path.stem}")
        sys.modules[module.__name__] = module  # where dataclasses look for names
        vars(module).update(torch=torch, np=np)  # a mistake may need them
        exec(compile(text, self.path, "exec", dont_inherit=True), vars(module))
        return module

    def hint(
        self, solve: Callable[[Any], Results], got: Results, tolerance: float
    ) -> str:
        """The hint of the mistake that gives the same in all cases, or an empty string.

        `solve` gives a module's results.
        """
        for also in ((), *((change,) for change in self.also)):
            for old, new, hint in self.mistakes:
                try:
                    with warnings.catch_warnings(action="ignore"):
                        made = solve(self.changed(*also, (old, new)))
                        if not difference(got, made, tolerance):
                            return hint
                except Exception:  # with this mistake there is no result
                    continue
        return ""
