"""The family of algorithms in words, read from their folders.

- `::: table family` is a table of every algorithm below its parent.
- `::: members of the family` is a section for each: paper, parent, difference, curve.
"""

from __future__ import annotations

import importlib
import re

from yieldrl.benchmarks.learning import is_control
from yieldrl.benchmarks.tasks import FIGURES, LIBRARIES
from yieldrl.cli import catalog
from yieldrl.cli.catalog import Member

from .directives import directive, listed
from .results import Result, of_kind

ARXIV = re.compile(r"arXiv:(\d+\.\d+)(?: and (\d+\.\d+))?")


@directive("table family")
def table() -> str:
    """Every algorithm below its parent, with the size of the difference."""
    titles = catalog.descriptions()
    rows = ["| algorithm | lines | classes of its own | from |", "|---|---:|---|---|"]
    for depth, member in catalog.tree():
        step = "&nbsp;" * 4 * depth + ("└&nbsp;" if depth else "")
        others = ", ".join(member.parents[1:])
        origin = _linked(titles[member.name]) + (f"; also from {others}" * bool(others))
        rows.append(
            f"| {step}[`{member.name}`]({member.name}.md) | {member.lines} |"
            f" {', '.join(member.changed)} | {origin} |"
        )
    return "\n".join(rows)


@directive("members of the family")
def members() -> str:
    """A section for every algorithm, in the order of the tree."""
    titles = catalog.descriptions()
    return "\n\n".join(_section(m, titles[m.name]) for _, m in catalog.tree())


def _section(member: Member, title: str) -> str:
    name = member.name
    parts = [f"### {name} {{ #{name} }}", f"{_linked(title)} {_size(member)}"]
    if member.parents:
        parts.append(f'??? example "The difference to {listed(member.parents)}"')
        parts.append(f"    ::: difference of {name}")
    return "\n\n".join([*parts, curve(member)])


def _linked(title: str) -> str:
    def link(match: re.Match[str]) -> str:
        numbers = [number for number in match.groups() if number]
        shown = [f"[arXiv:{n}](https://arxiv.org/abs/{n})" for n in numbers]
        return " and ".join(shown)

    return ARXIV.sub(link, title)


def _size(member: Member) -> str:
    """Where it stands, in a sentence or two."""
    page, lines = f"[its page]({member.name}.md)", f"**{member.lines} lines**"
    own = listed(member.changed, "`{}`")
    classes = "class" if len(member.changed) == 1 else "classes"
    if member.parents:
        parents = listed(member.parents, "[{0}](#{0})")
        return f"{lines} on top of {parents}: {classes} {own}; see {page}."
    borrowed = _borrowed(member)
    rest = f"; its {borrowed}" if borrowed else ", nothing from another algorithm"
    return f"A root: {lines}, {classes} {own}{rest}; see {page}."


def _borrowed(member: Member) -> str:
    """The classes that a root takes as they are from another folder, or room."""
    module = importlib.import_module(f"{catalog.PACKAGE}.{member.name}")
    taken = {part: getattr(module, part) for part in catalog.PARTS}
    known = catalog.folders()
    return " and ".join(
        f"`{part}` is that of"
        f" [{home}]({f'#{home}' if home in known else f'../reference/{home}.md'})"
        for part, cls in taken.items()
        if part not in member.changed
        for home in [cls.__module__.split(".")[-2]]
    )


def curve(member: Member) -> str:
    """What it learned beside another library, or beside its parent, or by itself."""
    learned = of_kind("learning")
    found = {
        name: result
        for name, result in learned.items()
        if result["algorithm"] == member.name and not is_control(result)
    }
    for name, result in found.items():
        if "reference" in result:
            of = result["reference"]
            library = f"{of['algorithm']} of {LIBRARIES[of['library']]}"
            return _figure(name, f"{member.name} and {library}", result)
    for name, tasks in FIGURES.items():
        with_it = [task for task in tasks if task in found]
        names = [learned[task]["algorithm"] for task in tasks]
        if with_it and set(names) & {*member.parents}:
            return _figure(name, listed(names), found[with_it[0]])
    for name, result in found.items():
        return _figure(name, member.name, result)
    return (
        f"No task was set for it; [its page]({member.name}.md) has what was measured."
    )


def _figure(name: str, algorithms: str, result: Result) -> str:
    text = f"Returns of {algorithms} on {result['world']} as they train"
    return f"![{text}](../results/{name}.svg)\n\n*{text}.*"
