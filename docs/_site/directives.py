"""Lines `::: summary learning` of a page, and what they stand for.

A directive is a function that returns Markdown. It is registered with a pattern of the
words after the colons and in the lines that are indented below, and gets the page and
the pattern's groups. Lines that no
pattern matches are left as they are.
"""

import re
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
LINE = re.compile(r"^( *)::: (.+(?:\n\1    .+)*)$", re.MULTILINE)
Directive = Callable[..., str]
_registered: dict[re.Pattern[str], Directive] = {}
_loader = FileSystemLoader(Path(__file__).parent)
_templates = Environment(loader=_loader, autoescape=True, undefined=StrictUndefined)


class Page(NamedTuple):
    """A page: its path below `docs/`, and its text as it was written."""

    path: str
    text: str

    @property
    def to_docs(self) -> str:
        """The way from the page's file to `docs/`, as `../`."""
        return "../" * self.path.count("/")


def directive(pattern: str) -> Callable[[Directive], Directive]:
    """Register a function for lines `::: ...` whose words match a pattern."""
    return lambda function: _registered.setdefault(re.compile(pattern), function)


def expand(page: Page, text: str) -> str:
    """A page's text with all directives replaced."""

    def replaced(match: re.Match[str]) -> str:
        indent, words = match.groups()
        for pattern, function in _registered.items():
            if found := pattern.fullmatch(words):
                return textwrap.indent(function(page, *found.groups("")), indent)
        return match[0]

    return LINE.sub(replaced, text)


def filled(template: str, **values: Any) -> str:
    """A file of HTML in this folder with values, its tags on one line, as in a list."""
    text = _templates.get_template(template).render(values)
    return re.sub(r"(?<=>)\s*\n\s*(?=<)", "", text)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def listed(names: Sequence[str], each: str = "{}") -> str:
    """Names as `a, b and c`, each in a format."""
    shown = [each.format(name) for name in names]
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
