"""The family of algorithms, read from their folders and configs.

- `::: table family` is a table of every algorithm below its parent.
- `::: drawing of the family` is the same as an SVG: every row is a link with a name,
  a box for each class, filled if the folder defines it, and a bar as long as its lines.
- `::: place of dqn` says in a sentence what it is on top of, and its size.
- `::: hyperparameters of dqn` is a table of all fields of a config, first its own, then
  what it inherits from other algorithms, then those that every algorithm has.
- `::: fields of dqn: gamma tau` is a table of some of them, in this order.
"""

import dataclasses
import importlib
import inspect
import re
import textwrap
from typing import Any

from yieldrl.cli import catalog
from yieldrl.cli.options import docstrings

from .directives import Page, directive, filled, listed, table

ARXIV = re.compile(r"(?<!\[)(arXiv:)?(\d{4}\.\d{4,5})")


@directive("table family")
def family(_: Page) -> str:
    """Every algorithm below its parent, with the size of the difference."""
    titles, rows = catalog.descriptions(), []
    for depth, member in catalog.tree():
        step = "&nbsp;" * 4 * depth + ("└&nbsp;" if depth else "")
        others = ", ".join(member.parents[1:])
        origin = _linked(titles[member.name]) + (f"; also from {others}" * bool(others))
        name = f"{step}[`{member.name}`]({member.name}.md)"
        rows.append([name, str(member.lines), ", ".join(member.changed), origin])
    return table(["algorithm", "lines", "classes of its own", "from"], rows)


@directive("drawing of the family")
def drawing(_: Page) -> str:
    """The tree as an SVG of links, in a box that a narrow screen scrolls."""
    rows = catalog.tree()
    longest = max(member.lines for _, member in rows)
    return filled("family.html", rows=rows, longest=longest, listed=listed)


@directive(r"place of (\w+)")
def place(_: Page, name: str) -> str:
    """Where an algorithm stands in the tree, and its size."""
    member = next(member for member in catalog.members() if member.name == name)
    classes = "class" + "es" * (len(member.changed) > 1)
    own = f"{classes} {listed(member.changed, '`{}`')}"
    lines, page = f"**{member.lines} lines**", f"[its page]({name}.md)"
    if member.parents:
        parents = listed(member.parents, "[{0}](#{0})")
        return f"{lines} on top of {parents}: {own}; see {page}."
    return f"A root: {lines}, {own}{_borrowed(member)}; see {page}."


def _linked(title: str) -> str:
    return ARXIV.sub(r"[arXiv:\2](https://arxiv.org/abs/\2)", title)


def _borrowed(member: catalog.Member) -> str:
    """The classes that a root takes as they are from another folder, or room."""
    module = importlib.import_module(f"{catalog.PACKAGE}.{member.name}")
    found = []
    for part in (part for part in catalog.PARTS if part not in member.changed):
        home = getattr(module, part).__module__.split(".")[-2]
        is_near = home in catalog.folders()
        link = f"#{home}" if is_near else f"../reference/{home}.md"
        found.append(f"`{part}` is that of [{home}]({link})")
    return f"; its {listed(found)}" if found else ", nothing from another algorithm"


@directive(r"fields of (\w+):((?: \w+)+)")
def fields(_: Page, algorithm: str, some: str) -> str:
    """Some fields of an algorithm's config, a row each."""
    cls = _config(algorithm)
    return _rows(cls, [cls.__dataclass_fields__[name] for name in some.split()])


@directive(r"hyperparameters of (\w+)")
def hyperparameters(_: Page, algorithm: str) -> str:
    """A folded table for every class that has fields, the algorithm's own first."""
    cls, parts = _config(algorithm), []
    left = {field.name: field for field in dataclasses.fields(cls)}
    for base in cls.__mro__[:-1]:
        own = inspect.get_annotations(base)
        here = [left.pop(name) for name in [*left] if name in own]
        if here:
            count = f"{len(here)} field{'s' * (len(here) > 1)}"
            parts.append(f'??? abstract "{_title(base, algorithm)}: {count}"')
            parts.append(textwrap.indent(_rows(cls, here), "    "))
    return "\n\n".join(parts)


def _config(algorithm: str) -> Any:
    package = f"{catalog.PACKAGE}.{algorithm}"
    return importlib.import_module(package).Trainer.config_class


def _title(base: type, algorithm: str) -> str:
    package, _, rest = base.__module__.partition(f"{catalog.PACKAGE}.")
    if package:  # of several algorithms: what it says of itself
        return (inspect.getdoc(base) or "").partition("\n")[0].removesuffix(".")
    folder = rest.partition(".")[0]
    own = folder == algorithm
    return "Its own, or with a default of its own" if own else f"From {folder}"


def _rows(cls: type, shown: list[dataclasses.Field[Any]]) -> str:
    texts, rows = docstrings(cls), []
    for field in shown:
        made = field.default_factory
        default = field.default if made is dataclasses.MISSING else made()
        large = type(default) is int and abs(default) >= 10_000
        value = f"{default:_}" if large else repr(default)
        text = texts.get(field.name, "").replace("|", "\\|")
        rows.append([f"`{field.name}`", f"`{value}`", text])
    return table(["field", "default", "what it does"], rows)
