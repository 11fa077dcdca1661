"""`yieldrl list`: the algorithms, as a list or as a family tree."""

from __future__ import annotations

from yieldrl.cli.family import Member, descriptions, family


def table() -> str:
    """One line an algorithm: its name and what it is."""
    rows = descriptions()
    width = max(map(len, rows))
    return "\n".join(f"{name:{width}}  {text}" for name, text in rows.items())


def tree() -> str:
    """Every algorithm below the one it extends, with the size of the difference."""
    members = family()
    rows = [row for member in members if not member.parents for row in _rows(member)]
    width = max(len(label) for label, _ in rows)
    lines = [f"{label:{width}}  {_summary(member)}" for label, member in rows]
    return "\n".join([f"{'algorithm':{width}}  lines  classes of its own", *lines])


def _rows(member: Member, depth: int = 0) -> list[tuple[str, Member]]:
    label = "  " * depth + member.name
    children = [child for child in family() if child.parents[:1] == (member.name,)]
    below = [row for child in children for row in _rows(child, depth + 1)]
    return [(label, member), *below]


def _summary(member: Member) -> str:
    classes = " ".join(member.changed) or "none"
    others = ", ".join(member.parents[1:])
    return f"{member.lines:5}  {classes}" + (f" (also from {others})" if others else "")
