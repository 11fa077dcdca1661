"""`::: drawing of the family` is the family tree of algorithms as an SVG.

Every algorithm has a row below its parent: its name, a box for each class, filled
if its folder defines that class, and a bar as long as its lines. Rows are links.
"""

from __future__ import annotations

from yieldrl.cli import catalog
from yieldrl.cli.catalog import Member
from yieldrl.docs.course.figures import drawing as svg

from .directives import directive, listed

CLASSES = ("Config", "Model", "Algorithm", "Agent", "Trainer")
ROW, TOP, STEP = 27, 62, 20  # pixels: of a row, above the first, for each generation
GUTTER, BOXES, BOX = 196, 216, 18  # where further parents' lines run, where boxes begin
BARS, LONGEST, WIDTH = 322, 300, 670


@directive("drawing of the family")
def drawing() -> str:
    """The tree as an SVG of links, in a box that a narrow screen scrolls."""
    rows = catalog.tree()
    middle = {m.name: TOP + i * ROW + ROW / 2 for i, (_, m) in enumerate(rows)}
    ends = {m.name: depth * STEP + 8 + 7.6 * len(m.name) for depth, m in rows}
    longest = max(member.lines for _, member in rows)
    lines = ""
    for depth, member in rows:
        y = middle[member.name]
        if member.parents:
            below = middle[member.parents[0]] + ROW / 2 - 6
            x = (depth - 1) * STEP + 8
            lines += svg.line("branch", f"M{x} {below:g}V{y}h{STEP - 12}")
        for parent in member.parents[1:]:  # past the names
            way = f"M{ends[parent]} {middle[parent]}H{GUTTER}V{y}H{ends[member.name]}"
            lines += svg.line("further", way)
    links = "".join(_row(d, m, middle[m.name], longest) for d, m in rows)
    parts = f"{_heads()}{svg.tag('g', lines, class_='lines')}{links}"
    return (
        '<div class="family-tree" tabindex="0" role="group"'
        ' aria-label="The family tree: every algorithm below its parent">'
        f'<svg viewBox="0 0 {WIDTH} {TOP + ROW * len(rows)}">{parts}</svg></div>'
    )


def _heads() -> str:
    """The names of the classes, slanted above their boxes, and that of the bars."""
    heads = svg.label(BARS, TOP - 8, "lines", class_="head")
    for i, name in enumerate(CLASSES):
        turn = f"translate({BOXES + 8 + i * BOX} {TOP - 8}) rotate(-50)"
        heads += svg.tag("text", name, class_="head", transform=turn)
    return heads


def _row(depth: int, member: Member, middle: float, longest: int) -> str:
    """A name, five boxes, and a bar with its number: one link."""
    width = max(2, round(LONGEST * member.lines / longest))
    said = f"{member.name}, {member.lines} lines"
    if member.parents:
        said += f" on top of {listed(member.parents)}"
    boxes = ""
    for i, name in enumerate(CLASSES):
        look = "own" if name in member.changed else "inherited"
        boxes += svg.box(look, BOXES + i * BOX, middle - 6, 12, 12)
    kind = "difference" if member.parents else "root"
    inside = svg.parts(
        svg.box("touch", 0, f"{middle - ROW / 2:g}", WIDTH, ROW),
        svg.label(depth * STEP, middle + 4, member.name, class_="name"),
        boxes,
        svg.box(kind, BARS, middle - 7, width, 14),
        svg.label(BARS + width + 8, middle + 4, f"{member.lines}"),
    )
    return svg.tag("a", inside, href=f"#{member.name}", aria_label=said)
