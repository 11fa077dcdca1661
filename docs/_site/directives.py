"""The registry of directives: a line `::: summary learning` and what it stands for.

A directive is a function that returns Markdown. It is registered with a pattern of the
words after the colons; the pattern's groups are its arguments, and a parameter called
`page` gets the page. Lines that no pattern matches are left as they are. Where a page
asks for something that is not there, a directive raises `DirectiveError`.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeVar

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
LINE = re.compile(r"^( *)::: (.+)$", re.MULTILINE)
Directive = TypeVar("Directive", bound=Callable[..., str])
_registered: dict[re.Pattern[str], Callable[..., str]] = {}


class DirectiveError(ValueError):
    """A page asks for something that is not there."""


class Page(NamedTuple):
    """A page: its path below `docs/`, and its text as it was written."""

    path: str
    text: str

    @property
    def to_docs(self) -> str:
        """The way from the page's file to `docs/`, as `../`."""
        return "../" * self.path.count("/")

    @property
    def to_site(self) -> str:
        """The way from the page's URL to that of the site: each page is a folder."""
        is_index = PurePosixPath(self.path).stem == "index"
        return self.to_docs + ("" if is_index else "../")


def directive(pattern: str) -> Callable[[Directive], Directive]:
    """Register a function for lines `::: ...` whose words match a pattern."""

    def register(function: Directive) -> Directive:
        _registered[re.compile(pattern)] = function
        return function

    return register


def expand(text: str, page: Page) -> str:
    """A text with all directives replaced, those in what they return too."""

    def replaced(match: re.Match[str]) -> str:
        indent, words = match.groups()
        for pattern, function in _registered.items():
            if found := pattern.fullmatch(words):
                asks = "page" in inspect.signature(function).parameters
                options: dict[str, Any] = {"page": page} if asks else {}
                written = function(*found.groups(""), **options)
                return textwrap.indent(expand(written, page), indent)
        return match[0]

    return LINE.sub(replaced, text)


def listed(names: tuple[str, ...] | list[str], each: str = "{}") -> str:
    """Names as `a, b and c`, each in a format."""
    shown = [each.format(name) for name in names]
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
