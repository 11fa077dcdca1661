"""Draw results as SVG: learning curves, comparisons, evidence and speed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yieldrl.experiments.plot import Curve, aggregate

from . import results, throughput
from .families import FAMILIES
from .learned import is_control, world
from .measured import trial_of
from .style import COLORS, INK, line, save_figure
from .tasks import FIGURES, published_beside

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LIBRARIES = {"stable_baselines3": "Stable-Baselines3", "sb3_contrib": "SB3-Contrib"}
RETURN = "return of deterministic episodes"


class Figure(NamedTuple):
    """What can be drawn."""

    draw: Callable[[dict[str, Any], Path], Path]
    """Writes the data as an SVG into a file, which it returns."""

    data: dict[str, Any]
    """One result, or results by the names of their tasks."""


def figures(folder: Path = results.FOLDER) -> dict[str, Figure]:
    """Name -> every figure that the results of a folder give.

    Results of speed have none, nor have claims that measure numbers alone. An entry of
    `FIGURES` needs the results of at least two of its tasks.
    """
    found = {path.stem: results.load(path) for path in sorted(folder.glob("*.json"))}
    drawable = {
        name: Figure(DRAW[result["kind"]], result)
        for name, result in found.items()
        if result["kind"] in DRAW and _has_lines(result)
    }
    for name, tasks in FIGURES.items():
        known = {task: found[task] for task in tasks if task in found}
        if len(known) > 1:
            drawable[name] = Figure(draw_comparison, known)
    return drawable


def draw_all(out: Path, folder: Path = results.FOLDER) -> Iterator[Path]:
    """Draw the results of `folder` into `out`; give the files written."""
    out.mkdir(parents=True, exist_ok=True)
    for name, figure in figures(folder).items():
        yield figure.draw(figure.data, out / f"{name}.svg")


def draw_learning(result: dict[str, Any], path: Path) -> Path:
    """One task: every seed, their mean and its interval, and what it stands beside."""

    def fill(axes: Axes) -> None:
        for steps, returns in points(result["runs"]):
            axes.plot(steps, returns, color=COLORS[0], alpha=0.25, linewidth=0.7)
        line(axes, curve(result["algorithm"], result["runs"]), COLORS[0])
        if "reference" in result:
            of = result["reference"]
            label = f"{of['algorithm']} of {LIBRARIES[of['library']]}"
            line(axes, curve(label, of["runs"]), INK, zorder=1.9)
        marks(axes, result)
        control = ", a control" if is_control(result) else ""
        axes.set_title(f"{result['algorithm']} on {world(result)}{control}")
        axes.set_xlabel("environment steps")
        axes.set_ylabel(RETURN)

    return save_figure(fill, path)


def draw_comparison(compared: dict[str, dict[str, Any]], path: Path) -> Path:
    """Several tasks of one environment on one pair of axes."""

    def fill(axes: Axes) -> None:
        for color, result in zip(COLORS, compared.values(), strict=False):
            line(axes, curve(result["algorithm"], result["runs"]), color)
        environments = {world(result): None for result in compared.values()}
        axes.set_title(", ".join(environments))
        axes.set_xlabel("environment steps")
        axes.set_ylabel(RETURN)

    if len(compared) > len(COLORS):
        raise ValueError(
            f"{path.stem}: at most {len(COLORS)} tasks fit, got {len(compared)}"
        )
    return save_figure(fill, path)


def draw_evidence(result: dict[str, Any], path: Path) -> Path:
    """The lines of a claim; a name up to its comma chooses the colour."""

    def fill(axes: Axes) -> None:
        colors = {"truth": INK}
        for name in result["runs"][0]["series"]:
            group, _, kind = name.partition(", ")
            first = group not in colors
            color = colors.setdefault(group, COLORS[len(colors) - 1])
            lines = [np.array(run["series"][name]).T for run in result["runs"]]
            drawn = aggregate(name, [(xs, ys) for xs, ys in lines])
            line(axes, drawn, color, "--" if kind and not first else "-")
        axes.set_title(result["statement"], wrap=True)
        axes.set_xlabel(result["x_label"])
        axes.set_ylabel(result["y_label"])

    return save_figure(fill, path)


def draw_worlds(result: dict[str, Any], path: Path) -> Path:
    """Every side's median over N, and a band from its slowest run to its fastest."""
    from matplotlib.ticker import EngFormatter

    def fill(axes: Axes) -> None:
        counts = [point["num_envs"] for point in result["points"]]
        for color, side in zip(COLORS, result["sides"], strict=False):
            there = [p for p in result["points"] if side in p["sides"]]
            runs = np.array([point["sides"][side]["runs"] for point in there])
            sizes = np.array([point["num_envs"] for point in there])
            middle, least, most = np.median(runs, 1), runs.min(1), runs.max(1)
            drawn = Curve(side, sizes, middle, least, most, runs.shape[1])
            line(axes, drawn, color, ".-")
        axes.loglog()
        axes.set_xticks(counts, [f"{count:,}" for count in counts], minor=False)
        axes.minorticks_off()
        axes.yaxis.set_major_formatter(EngFormatter(sep=""))
        axes.set_title(f"{result['env_id']}, {throughput.where(result)}")
        axes.set_xlabel("environments")
        axes.set_ylabel("environment steps per second")

    return save_figure(fill, path)


def draw_trial(result: dict[str, Any], path: Path) -> Path:
    """What a trial found."""
    fill = trial_of(result).fill
    return save_figure(lambda axes: fill(axes, result["runs"]), path)


def points(runs: Sequence[dict[str, Any]]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Environment steps `[P]` and episode returns `[P]` of every seed."""
    return [
        (
            np.array([point["sample_step"] for point in run["curve"]]),
            np.array([point["episode_return"] for point in run["curve"]]),
        )
        for run in runs
    ]


def curve(label: str, runs: Sequence[dict[str, Any]]) -> Curve:
    """Mean and 95 % bootstrap interval over the seeds of a learning result."""
    count = "1 seed" if len(runs) == 1 else f"{len(runs)} seeds"
    return aggregate(f"{label}, {count}", points(runs))


def marks(axes: Axes, result: dict[str, Any]) -> None:
    """Level lines: what counts as learned, and what others report."""
    if result["threshold"] is not None:
        level = result["threshold"]
        label = f"counts as learned: {level:g}"
        axes.axhline(level, color=INK, linewidth=0.9, linestyle="--", label=label)
    published = published_beside(result)
    if published is not None:
        level, label = published.value, f"{published.source}: {published.value:g}"
        axes.axhline(level, color=INK, linewidth=0.9, linestyle=":", label=label)


def _has_lines(result: dict[str, Any]) -> bool:
    return result["kind"] != "evidence" or bool(result["runs"][0]["series"])


DRAW = {
    "learning": draw_learning,
    "evidence": draw_evidence,
    "worlds": draw_worlds,
    **dict.fromkeys(FAMILIES, draw_trial),
}
