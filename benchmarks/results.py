"""Result files: how they are checked, written, read and printed."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .circumstances import ROOT, circumstances, versions

__all__ = ["ROOT", "circumstances", "versions"]

FOLDER = ROOT / "docs" / "results"
# a result as text: a title, a table (its header and rows), and notes below it
Shown = tuple[str, tuple[list[str], list[list[str]]], list[str]]

# entries of every result file, and their types
REQUIRED = {
    "kind": str,
    "command": str,
    "date": str,
    "revision": str,
    "hardware": dict,
    "versions": dict,
    "seeds": list,
}


def check(result: dict[str, Any]) -> None:
    """Refuse a result that does not say where its numbers come from.

    Raises:
        ValueError: If an entry is missing, empty or of the wrong type.
    """
    for name, kind in REQUIRED.items():
        value = result.get(name)
        if not isinstance(value, kind) or not value:
            raise ValueError(f"result[{name!r}] = {value!r}: expected a filled {kind}")
    for name in ("cpu", "cores"):
        if not result["hardware"].get(name):
            raise ValueError(f"result['hardware'] lacks {name!r}")
    if "reference" in result:
        check(result["reference"])


def save(result: dict[str, Any], path: str | Path) -> Path:
    """Check a result and write it as JSON.

    Raises:
        ValueError: If it is incomplete (see `check`).
    """
    check(result)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dumps(result) + "\n", encoding="utf-8")
    return path


def dumps(value: Any, indent: str = "") -> str:
    """JSON with a line for each run, so that a difference shows which runs differ.

    Lists of objects, as of runs, points or pairs, have a line for every object; objects
    with such a list in them have a line for every entry. All else is compact.

    >>> print(dumps({"seeds": [1, 2], "runs": [{"seed": 1}, {"seed": 2}]}))
    {
     "seeds": [1,2],
     "runs": [
      {"seed":1},
      {"seed":2}
     ]
    }
    """
    deeper = indent + " "
    if _has_objects(value):
        marks, parts = "[]", [_compact(item) for item in value]
    elif isinstance(value, dict) and any(map(_has_runs, value.values())):
        marks = "{}"
        parts = [f"{_compact(k)}: {dumps(of, deeper)}" for k, of in value.items()]
    else:
        return _compact(value)
    lines = ",\n".join(deeper + part for part in parts)
    return f"{marks[0]}\n{lines}\n{indent}{marks[1]}"


def load(path: str | Path) -> dict[str, Any]:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, aligned so that a terminal shows it well too.

    >>> print(table(["name", "value"], [["a", "1"]]))
    | name | value |
    |------|-------|
    | a    | 1     |
    """
    columns = zip(header, *rows, strict=True)
    widths = [max(len(cell) for cell in column) for column in columns]

    def line(cells: Sequence[str]) -> str:
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        return f"| {' | '.join(padded)} |"

    rule = "|".join("-" * (width + 2) for width in widths)
    return "\n".join([line(header), f"|{rule}|", *map(line, rows)])


def verdicts(result: dict[str, Any]) -> list[str]:
    """What was asked of a result, of its seeds or of all runs, and whether it is so."""
    if "criterion" not in result:
        return [verdict(demand) for demand in result["demands"]]
    held = "holds" if result["holds"] else "DOES NOT HOLD"
    return [f"{result['criterion']}: {result['passed']}, {held}"]


def verdict(demand: dict[str, Any]) -> str:
    """What came out, what was asked for, and whether that is so."""
    held = "holds" if demand["holds"] else "DOES NOT HOLD"
    value, bound = demand["value"], demand["bound"]
    return f"{demand['demand']}: {value:.4g}, asked for {bound:g}: {held}"


def link(name: str) -> str:
    """A committed result, as a page beside the folder `results` links to it."""
    return f"[{name}](results/{name}.json)"


def footer(result: dict[str, Any]) -> str:
    """The circumstances as the two lines under a table."""
    machine = result["hardware"]
    packages = ", ".join(f"{name} {v}" for name, v in result["versions"].items())
    gpu = f"{machine['gpu']}, " if "gpu" in machine else ""
    return (
        f"{gpu}{machine['cpu']}, {machine['cores']} cores,"
        f" load {machine['load_average']} at the start; {result['date']};"
        f" seeds {result['seeds']}\n"
        f"{packages}; revision {result['revision']}\n{result['command']}"
    )


def _has_objects(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def _has_runs(value: Any) -> bool:
    """Whether there is a list of objects in a value, not counting those in lists."""
    inside = value.values() if isinstance(value, dict) else ()
    return _has_objects(value) or any(map(_has_runs, inside))


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
