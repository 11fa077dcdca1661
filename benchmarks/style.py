"""How figures look: colours lie between light and dark, without a background."""

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from yieldrl.experiments.plot import Curve, aggregate

from .scores import iqm

INK = "#7f7f7f"  # text, axes and references
COLORS = ("#d1502f", "#3a86d0", "#2a9d6f", "#9b6bd1")  # the yield sign's red first
COLORS += ("#b8860b", "#1f9aaa", "#d6589f", "#a0703c")
SHEET = Path(__file__).with_suffix(".mplstyle")


def line(axes: Any, drawn: Curve, color: str, style: str = "-", **how: Any) -> None:
    low, high = drawn.low, drawn.high
    axes.fill_between(drawn.steps, low, high, color=color, alpha=0.2, linewidth=0)
    axes.plot(drawn.steps, drawn.mean, style, color=color, label=drawn.label, **how)


def average(
    axes: Any, label: str, runs: Sequence[Any], color: str, style: str = "-", **how: Any
) -> None:
    """The mean of runs and its interval: the first two numbers of the rows
    `[runs, T, ...]`."""
    points = (np.array([row[:2] for row in rows]).T for rows in runs)
    line(axes, aggregate(label, [(x, y) for x, y in points]), color, style, **how)


def lines(
    axes: Any, cases: Mapping[str, Any], colors: Sequence[str] = COLORS, **how: Any
) -> None:
    """A line for each case, over its runs `[runs, T, ...]`, with an interval."""
    for color, (name, runs) in zip(colors, cases.items(), strict=False):
        label = f"{name}, {len(runs)} seed{'s' * (len(runs) != 1)}"
        average(axes, label, runs, color, **how)


def series(axes: Any, runs: Sequence[Mapping[str, Any]], **labels: str) -> None:
    """What lies in `series` of each run, a list of points for each name; a name up to
    its comma chooses the colour, later ones are dashed."""
    colors = {"truth": INK}
    for name in runs[0]["series"]:
        group = name.partition(",")[0]
        mark = "--" if group in colors and name != group else "-"
        color = colors.setdefault(group, COLORS[(len(colors) - 1) % len(COLORS)])
        average(axes, name, [run["series"][name] for run in runs], color, mark)
    axes.set(**{"xlabel": "environment steps", **labels})


def curves(axes: Any, runs: Sequence[Mapping[str, Any]], **labels: str) -> None:
    """The `curve` of each run, a line for each `side`."""
    sides: dict[str, list[Any]] = {}
    for run in runs:
        sides.setdefault(run["side"], []).append(run["curve"])
    lines(axes, {side: of for side, of in sides.items() if len(of[0]) > 1})
    default = "return of deterministic episodes"
    axes.set(**{"xlabel": "environment steps", "ylabel": default, **labels})


def bars(axes: Any, rows: Mapping[str, Mapping[str, float]]) -> None:
    """A bar for each row, the first one on top: its parts, from left to right."""
    for place, parts in enumerate([*rows.values()][::-1]):
        begin = 0.0
        for color, (part, value) in zip(cycle(COLORS), parts.items(), strict=False):
            label = part if place == 0 else None
            axes.barh(place, value, 0.6, left=begin, color=color, label=label)
            begin += value
    axes.set_yticks(range(len(rows)), [*rows][::-1])


def dots(axes: Any, groups: Mapping[str, Mapping[str, Sequence[float]]]) -> None:
    """A place for each name of both groups, with its values as dots, a colour for each
    group, and their interquartile mean."""
    for color, shift, label in zip(COLORS, (-0.12, 0.12), groups, strict=False):
        for place, values in enumerate(groups[label].values()):
            x = place + shift
            axes.plot([x] * len(values), values, ".", color=color, alpha=0.35)
            shown = label if place == 0 else None
            axes.plot(x, iqm(np.array(values)), "o", color=color, label=shown)
        names = [name.replace(" ", "\n") for name in groups[label]]
        axes.set_xticks(range(len(names)), names, fontsize=7)


def save_figure(fill: Callable[[Any], object], path: Path) -> Path:
    """Write a figure; `fill` draws the lines on its axes."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    # Equal data give equal files: no date, no random ids.
    with mpl.rc_context({"svg.hashsalt": "yieldrl"}, SHEET):
        figure = Figure(figsize=(6.4, 4), layout="constrained")
        axes = figure.subplots()
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        fill(axes)
        if axes.get_legend_handles_labels()[0]:
            figure.legend(loc="outside lower center", ncols=2)
        figure.savefig(path, format="svg", metadata={"Date": None})
    return path
