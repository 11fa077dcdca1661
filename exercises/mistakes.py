"""Mistakes as data: changes to a solution, each with the hint that names it.

If an answer gives what a changed solution gives, it has that mistake.
"""

import re
import warnings
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import torch

from yieldrl.exercises.comparing import kind, like

Results = list[list[Any]]
"""For each case, the parts of its result."""


class Mistake(NamedTuple):
    """A change to the text of a solution, and what to say of it."""

    old: str
    new: str
    hint: str


def parse(table: str) -> list[Mistake]:
    r"""The mistakes of a table.

    It has lines `old => new`, one for each way to make a mistake, and below them,
    indented, the hint. Line breaks in the code are written `\n`. Of several mistakes
    that explain an answer the first is named: those that fewer cases show come first.

    >>> parse("x + y => x - y\n    the sign is wrong")
    [Mistake(old='x + y', new='x - y', hint='the sign is wrong')]
    """
    mistakes = []
    for changes, hint in re.findall(r"((?:^\S.*\n)+)((?:^ .*\n?)+)", table, re.M):
        for change in changes.splitlines():
            old, _, new = change.replace(r"\n", "\n").partition(" =>")
            mistakes.append(Mistake(old, new.removeprefix(" "), " ".join(hint.split())))
    return mistakes


class Solution:
    """A chapter's `solution.py`, and what `mistakes.txt` beside it says of it."""

    def __init__(self, folder: Path) -> None:
        self.path, table = folder / "solution.py", folder / "mistakes.txt"
        self.mistakes = parse(table.read_text("utf-8")) if table.is_file() else []

    @cached_property
    def right(self) -> ModuleType:
        """The file as a module."""
        return self.changed()

    def changed(self, old: str = "", new: str = "") -> ModuleType:
        """The file as a module, with a part of its text replaced.

        Raises:
            ValueError: If that part is not there, or more than once.
        """
        text = self.path.read_text("utf-8")
        if old:
            if text.count(old) != 1:
                raise ValueError(f"{old!r} is not once in {self.path}")
            text = text.replace(old, new)
        module = ModuleType(f"changed_{self.path.stem}")
        vars(module).update(torch=torch, np=np)  # a mistake may need them
        exec(compile(text, self.path, "exec", dont_inherit=True), vars(module))
        return module

    def hint(
        self,
        solve: Callable[[Any], Results],
        got: Results,
        place: tuple[int, int],
        tolerance: float,
    ) -> str:
        """The hint of the mistake that explains an answer best, or an empty string.

        `place` is the case and the part that are wrong; `solve` gives a module's
        results.
        """
        i, j = place
        odd = kind(got[i][j]) != kind(solve(self.right)[i][j])
        found = {}
        for old, new, hint in self.mistakes:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    made = solve(self.changed(old, new))
            except Exception:  # with this mistake there is no result in this case
                continue
            if like(made[i][j], got[i][j], tolerance):
                found.setdefault(0 if _all_like(made, got, tolerance) else 1, hint)
            elif odd and kind(made[i][j]) == kind(got[i][j]):
                found.setdefault(2, hint)
        return found[min(found)] if found else ""


def _all_like(made: Results, got: Results, tolerance: float) -> bool:
    """Whether two answers give the same in all cases."""
    pairs = [
        pair
        for one, other in zip(made, got, strict=True)
        for pair in zip(one, other, strict=True)
    ]
    return all(like(a, b, tolerance) for a, b in pairs)
