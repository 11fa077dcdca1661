"""Claims that are judged seed by seed: comparisons, a table of numbers, and lines."""

import operator
import re
import statistics
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from .style import COLORS, INK, line

COMPARISONS = {"<": operator.lt, "<=": operator.le, "==": operator.eq}
COMPARISONS |= {">": operator.gt, ">=": operator.ge}
SPLIT = re.compile(rf" ({'|'.join(sorted(COMPARISONS, key=len, reverse=True))}) ")


def compare(text: str, measured: Mapping[str, Any]) -> bool:
    """Whether a chain of comparisons holds.

    Each term is a number, the name of a measured number, or a number times a name.

    >>> compare("0 < 2 * loss <= 4", {"loss": 2.0})
    True
    """
    parts = SPLIT.split(text)
    terms = [_term(part, measured) for part in parts[::2]]
    signs = [COMPARISONS[sign] for sign in parts[1::2]]
    return all(sign(*pair) for sign, pair in zip(signs, pairwise(terms), strict=True))


def _term(text: str, measured: Mapping[str, Any]) -> float:
    factor, times, name = text.partition(" * ")
    if times:
        return float(factor) * measured[name]
    return measured[text] if text in measured else float(text)


def parted(measured: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What was measured, parted into `numbers`, `series` and, if any, `details`, which
    are for a figure of its own."""
    details = {name: v for name, v in measured.items() if isinstance(v, dict)}
    series = {name: v for name, v in measured.items() if isinstance(v, list)}
    numbers = {k: v for k, v in measured.items() if k not in {*details, *series}}
    return {"numbers": numbers, "series": series, **details}


def table(runs: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    names = list(runs[0]["numbers"])
    rows = [
        [
            str(run["seed"]),
            *(f"{run['numbers'][name]:.6g}" for name in names),
            "yes" if run["holds"] else "no",
        ]
        for run in runs
    ]
    means = [statistics.mean(run["numbers"][name] for run in runs) for name in names]
    rows.append(["mean", *(f"{value:.6g}" for value in means), ""])
    return ["seed", *names, "holds"], rows


def draw(axes: Any, result: Mapping[str, Any]) -> None:
    """The lines; a name up to its comma chooses the colour, later ones are dashed."""
    import numpy as np

    from yieldrl.experiments.plot import aggregate

    colors = {"truth": INK}
    for name in result["runs"][0]["series"]:
        group, _, kind = name.partition(", ")
        first = group not in colors
        color = colors.setdefault(group, COLORS[len(colors) - 1])
        lines = [np.array(run["series"][name]).T for run in result["runs"]]
        drawn = aggregate(name, [(xs, ys) for xs, ys in lines])
        line(axes, drawn, color, "--" if kind and not first else "-")
    axes.set_title(result["statement"], wrap=True)
    axes.set(xlabel=result["x_label"], ylabel=result["y_label"])
