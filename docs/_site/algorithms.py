"""The family of algorithms, read from their folders and configs."""

import dataclasses
import importlib
import re
import textwrap
from typing import Any

from yieldrl.cli import catalog
from yieldrl.cli.options import docstrings

from .markdown import filled, table

ARXIV = re.compile(r"(?<!\[)(?:arXiv:)?(\d{4}\.\d{4,5})")


def family_table() -> str:
    """Every algorithm below its parent, with the size of the difference."""
    titles, rows = catalog.descriptions(), []
    for depth, member in catalog.tree():
        step = "&nbsp;" * 4 * depth + ("└&nbsp;" if depth else "")
        others = "".join(f" Also from {parent}." for parent in member.parents[1:])
        title = ARXIV.sub(r"[arXiv:\1](https://arxiv.org/abs/\1)", titles[member.name])
        name = f"{step}[`{member.name}`]({member.name}.md)"
        classes = ", ".join(member.changed)
        rows.append([name, str(member.lines), classes, title + others])
    return table(["algorithm", "lines", "classes of its own", "from"], rows)


def family_drawing() -> str:
    """The same as an SVG: a row is a link with a box for each class of its own."""
    rows = catalog.tree()
    longest = max(member.lines for _, member in rows)
    return filled("family.html", rows=rows, longest=longest)


def place(name: str) -> str:
    """Where an algorithm stands in the tree, and its size."""
    member = next(member for member in catalog.members() if member.name == name)
    parents = ", ".join(f"[{parent}](#{parent})" for parent in member.parents)
    above = f"On top of {parents}" if parents else "A root"
    own = ", ".join(f"`{part}`" for part in member.changed)
    return f"{above}: **{member.lines} lines**, {own}; see [its page]({name}.md)."


def hyperparameters(algorithm: str, some: str = "") -> str:
    """A folded table for every class with fields, the algorithm's own first.

    With names of `some` fields, one table of these, in the order given.
    """
    cls: Any = importlib.import_module(f"{catalog.PACKAGE}.{algorithm}").Config
    if some:
        return _rows(cls, [cls.__dataclass_fields__[name] for name in some.split()])
    left, parts = {field.name: field for field in dataclasses.fields(cls)}, []
    for base in cls.__mro__[:-1]:
        here = [left.pop(name) for name in [*left] if name in base.__annotations__]
        if here:
            home = base.__module__.removeprefix("yieldrl.").replace(".", "/")
            count = f"{len(here)} field{'s' * (len(here) > 1)}"
            parts.append(f'??? abstract "{home}.py: {count}"')
            parts.append(textwrap.indent(_rows(cls, here), "    "))
    return "\n\n".join(parts)


def _rows(cls: type, shown: list[dataclasses.Field[Any]]) -> str:
    texts, rows = docstrings(cls), []
    for field in shown:
        made = field.default_factory
        default = field.default if made is dataclasses.MISSING else made()
        is_large = type(default) is int and abs(default) >= 10_000
        value = f"{default:_}" if is_large else repr(default)
        text = texts.get(field.name, "").replace("|", "\\|")
        rows.append([f"`{field.name}`", f"`{value}`", text])
    return table(["field", "default", "what it does"], rows)
