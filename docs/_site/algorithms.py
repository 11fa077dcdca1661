"""The family of algorithms, read from their folders and configs."""

import dataclasses
import importlib
import re
import textwrap
from typing import Any

from yieldrl.cli import catalog
from yieldrl.cli.options import docstrings

from .markdown import DOCS, filled, table

ARXIV = re.compile(r"(?<!\[)(?:arXiv:)?(\d{4}\.\d{4,5})")


def title(name: str) -> str:
    """What an algorithm is, with links to its papers."""
    said = catalog.descriptions()[name]
    return ARXIV.sub(r"[arXiv:\1](https://arxiv.org/abs/\1)", said)


def family_drawing() -> str:
    """The family as an SVG: a row is a link with a box for each class of its own."""
    return filled("family.html", rows=catalog.tree())


def page(member: catalog.Member) -> str:
    """Where an algorithm is explained: its page, or a section of its parent's."""
    path = DOCS / "algorithms" / f"{member.name}.md"
    return path.name if path.is_file() else f"{member.parents[0]}.md#{member.name}"


def agents() -> str:
    """A row for each trained agent that comes along, from what its file says."""
    rows = []
    for name, path in catalog.agents().items():
        of, size = catalog.about(path), f"{path.stat().st_size / 1000:.0f}"
        reached = " ".join(catalog.returned(of["evaluation"]).split()[1:4])
        made = of["command"].removeprefix("python -m benchmarks agents ")
        rows.append([f"`{name}`", reached, f"{of['sample_step']:,}", size, f"`{made}`"])
    return table(["agent", "return", "steps", "kB", "made by"], rows)


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
        value = f"{default:_}" if type(default) is int else repr(default)
        text = texts.get(field.name, "").replace("|", "\\|")
        rows.append([f"`{field.name}`", f"`{value}`", text])
    return table(["field", "default", "what it does"], rows)
