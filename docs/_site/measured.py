"""Committed results, and the figures, links and verdicts that pages show of them."""

from __future__ import annotations

import statistics
from functools import lru_cache
from pathlib import Path
from typing import Any

from yieldrl.benchmarks import plot, results

FOLDER = results.FOLDER
NOTHING = "This was not measured yet."
Result = dict[str, Any]
Files = tuple[tuple[Path, int], ...]


def committed(kind: str = "") -> dict[str, Result]:
    """Name -> every committed result, or each of a kind, in the order of names."""
    found = _read(_files())
    return {name: r for name, r in found.items() if kind in ("", r.get("kind"))}


def can_be_drawn(name: str) -> bool:
    """Whether there is a figure `results/NAME.svg`."""
    return name in _figures(_files())


def figure(name: str, text: str, up: str = "../") -> str:
    """A figure with a text for those who cannot see it, if it can be drawn.

    Args:
        name: Of the figure.
        text: What it shows.
        up: The way from the page's folder to `docs/`.
    """
    return f"![{text}]({up}results/{name}.svg)\n\n" if can_be_drawn(name) else ""


def source(name: str, result: Result, up: str = "../") -> str:
    """Where the numbers of a result are, and the command that measures them."""
    return f"[Every number]({up}results/{name}.json) is from `{result['command']}`"


def held(result: Result) -> str:
    """On how many seeds a criterion held, and whether that was enough."""
    if result["criterion"] == "none":
        return " "
    enough = "" if result["holds"] else ": **too few**"
    return f"{result['passed']} of {len(result['runs'])}{enough}"


def unless_held(demand: Result, text: str) -> str:
    """A demand's text, with a remark if the demand does not hold."""
    return text if demand["holds"] else f"{text}, **not enough**"


def means(result: Result) -> list[str]:
    """The mean over seeds of each number that a claim measured, with its name."""
    numbers = [run["numbers"] for run in result["runs"]]
    return [f"{k}: {statistics.mean(n[k] for n in numbers):.4g}" for k in numbers[0]]


def machine(result: Result) -> str:
    """The processor on which a result was measured."""
    return f"on {result['hardware']['cores']} cores of {result['hardware']['cpu']}."


def _files() -> Files:
    paths = sorted(FOLDER.glob("*.json"))
    return tuple((path, path.stat().st_mtime_ns) for path in paths)


@lru_cache(maxsize=1)
def _read(files: Files) -> dict[str, Result]:
    return {path.stem: results.load(path) for path, _ in files}


@lru_cache(maxsize=1)
def _figures(_: Files) -> dict[str, plot.Figure]:
    return plot.figures(FOLDER)
