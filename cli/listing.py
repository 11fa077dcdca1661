"""`yieldrl list`: the algorithms with their tuned configs, or as a family tree."""

import re
from pathlib import Path

from yieldrl.cli import catalog, presets

REACHED = re.compile(r"# Reached: (.+) \(docs/results/[\w.-]+\)\.")
"""First line of a tuned config file whose result is committed."""


def table() -> str:
    """One line per algorithm, and one below it for each of its tuned configs."""
    homes, rows = catalog.folders(), catalog.descriptions()
    width = max(map(len, rows))
    lines: list[str] = []
    for name, text in rows.items():
        lines.append(f"{name:{width}}  {text}")
        for path in presets.files(homes[name]):
            lines.append(f"{'':{width}}    --config {path.stem}: {reached(path)}")
    return "\n".join(lines)


def reached(path: Path) -> str:
    """The mean return over seeds that a tuned config file states."""
    found = REACHED.fullmatch(path.read_text("utf-8-sig").partition("\n")[0])
    return f"return {found[1]}" if found else "no result yet"


def tree() -> str:
    """Every algorithm below the one it extends, with the size of the difference."""
    rows = [("  " * depth + member.name, member) for depth, member in catalog.tree()]
    width = max(len(label) for label, _ in rows)
    lines = [f"{'algorithm':{width}}  lines  classes of its own"]
    for label, member in rows:
        others = ", ".join(member.parents[1:])
        also = f" (also from {others})" if others else ""
        classes = " ".join(member.changed) or "none"
        lines.append(f"{label:{width}}  {member.lines:5}  {classes}{also}")
    return "\n".join(lines)
