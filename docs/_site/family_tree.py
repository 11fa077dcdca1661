"""The family of algorithms, drawn and written from their folders.

- `::: table family` is a table of every algorithm below its parent.
- `::: drawing of the family` is an SVG: a row for every algorithm below its parent, the
  classes that its folder defines, and a bar as long as its lines. Names are links.
- `::: members of the family` is a section for each: paper, parent, difference, curve.
"""

from __future__ import annotations

import html
import importlib
import re

from yieldrl.benchmarks import plot
from yieldrl.benchmarks.learning import is_control, world
from yieldrl.benchmarks.tasks import FIGURES
from yieldrl.cli import catalog
from yieldrl.cli.catalog import Member

from .directives import directive, listed
from .measured import Result, committed

ARXIV = re.compile(r"arXiv:(\d+\.\d+)(?: and (\d+\.\d+))?")
CLASSES = ("Config", "Model", "Algorithm", "Agent", "Trainer")

ROW, TOP, STEP = 27, 62, 20  # pixels: of a row, above the first, for each generation
GUTTER, BOXES, BOX = 196, 216, 18  # where further parents' lines run, where boxes begin
BARS, LONGEST, WIDTH = 322, 300, 670


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


@directive("drawing of the family")
def drawing() -> str:
    """The tree as an SVG of links, in a box that a narrow screen scrolls."""
    rows = catalog.tree()
    at = {member.name: i for i, (_, member) in enumerate(rows)}
    depth = {member.name: d for d, member in rows}
    lines = [_branch(d, m, at) for d, m in rows]
    lines += [_further(name, m, at, depth) for _, m in rows for name in m.parents[1:]]
    parts = [_heads(), f'<g class="lines">{"".join(lines)}</g>']
    longest = max(member.lines for _, member in rows)
    parts += [_row(d, m, at[m.name], longest) for d, m in rows]
    height = TOP + ROW * len(rows)
    return (
        '<div class="family-tree" tabindex="0" role="group"'
        ' aria-label="The family tree: every algorithm below its parent">'
        f'<svg viewBox="0 0 {WIDTH} {height}">{"".join(parts)}</svg></div>'
    )


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
    """The classes that a root takes as they are from another folder."""
    module = importlib.import_module(f"{catalog.PACKAGE}.{member.name}")
    taken = {part: getattr(module, part) for part in catalog.PARTS}
    return " and ".join(
        f"`{part}` is that of [{home}](#{home})"
        for part, cls in taken.items()
        if part not in member.changed
        for home in [cls.__module__.split(".")[-2]]
    )


def curve(member: Member) -> str:
    """What it learned beside another library, or beside its parent, or by itself."""
    learned = committed("learning")
    found = {
        name: result
        for name, result in learned.items()
        if result["algorithm"] == member.name and not is_control(result)
    }
    for name, result in found.items():
        if "reference" in result:
            of = result["reference"]
            library = f"{of['algorithm']} of {plot.LIBRARIES[of['library']]}"
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
    text = f"Returns of {algorithms} on {world(result)} as they train"
    return f"![{text}](../results/{name}.svg)\n\n*{text}.*"


def _heads() -> str:
    """The names of the classes, slanted above their boxes, and that of the bars."""
    heads = [
        f'<text class="head" transform="translate({BOXES + 8 + i * BOX} {TOP - 8})'
        f' rotate(-50)">{name}</text>'
        for i, name in enumerate(CLASSES)
    ]
    return "".join(heads) + f'<text class="head" x="{BARS}" y="{TOP - 8}">lines</text>'


def _branch(depth: int, member: Member, at: dict[str, int]) -> str:
    """The line from the nearest parent."""
    if not depth:
        return ""
    x, top = (depth - 1) * STEP + 8, TOP + at[member.parents[0]] * ROW + ROW
    y = TOP + at[member.name] * ROW + ROW / 2
    return f'<path class="branch" d="M{x} {top - 6}V{y}h{STEP - 12}"/>'


def _further(
    parent: str, member: Member, at: dict[str, int], depth: dict[str, int]
) -> str:
    """A dashed line from one more parent, past the names."""
    (x, y), (to, below) = (
        (_name_end(n, depth[n]), TOP + at[n] * ROW + ROW / 2)
        for n in (parent, member.name)
    )
    return f'<path class="further" d="M{x} {y}H{GUTTER}V{below}H{to}"/>'


def _name_end(name: str, depth: int) -> float:
    return depth * STEP + 8 + 7.6 * len(name)


def _row(depth: int, member: Member, row: int, longest: int) -> str:
    """A name, five boxes, and a bar with its number: one link."""
    y, middle = TOP + row * ROW, TOP + row * ROW + ROW / 2
    kind = "difference" if member.parents else "root"
    boxes = "".join(
        f'<rect class="{"own" if name in member.changed else "inherited"}"'
        f' x="{BOXES + i * BOX}" y="{middle - 6}" width="12" height="12"/>'
        for i, name in enumerate(CLASSES)
    )
    width = max(2, round(LONGEST * member.lines / longest))
    said = f"{member.name}, {member.lines} lines"
    if member.parents:
        said += f" on top of {listed(member.parents)}"
    return (
        f'<a href="#{member.name}" aria-label="{html.escape(said)}">'
        f'<rect class="touch" x="0" y="{y}" width="{WIDTH}" height="{ROW}"/>'
        f'<text class="name" x="{depth * STEP}" y="{middle + 4}">{member.name}</text>'
        f'{boxes}<rect class="{kind}" x="{BARS}" y="{middle - 7}" width="{width}"'
        f' height="14"/><text x="{BARS + width + 8}" y="{middle + 4}">{member.lines}'
        "</text></a>"
    )
