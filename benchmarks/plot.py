"""Draw results as SVG: learning curves, comparisons, claims and speed."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from yieldrl.experiments.plot import Curve, aggregate

from . import evidence, results
from .env_throughput.measuring import where
from .learning import is_control, world
from .style import COLORS, INK, line, save_figure
from .tasks import FIGURES, LIBRARIES, published_beside

RETURN = "return of deterministic episodes"


def draw_all(out: Path) -> Iterator[Path]:
    """Every figure that the committed results give: of all that have lines, and of
    every entry of `FIGURES` with results of at least two of its tasks."""
    out.mkdir(parents=True, exist_ok=True)
    paths = sorted(results.FOLDER.glob("*.json"))
    found = {path.stem: results.load(path) for path in paths}
    for name, result in found.items():
        if (path := draw_result(result, out / f"{name}.svg")) is not None:
            yield path
    for name, tasks in FIGURES.items():
        known = {task: found[task] for task in tasks if task in found}
        if len(known) > 1:
            fill = partial(draw_comparison, compared=known)
            yield save_figure(fill, out / f"{name}.svg")


def draw_result(result: dict[str, Any], path: Path) -> Path | None:
    """Draw a result beside its file, if it has lines."""
    if "claim" in result:
        claim = evidence.claim_of(result)
        if not claim.has_figure(result):
            return None
        fill: Any = claim.fill
    elif result["kind"] in DRAW:
        fill = DRAW[result["kind"]]
    else:
        return None
    return save_figure(partial(fill, result=result), path)


def draw_learning(axes: Any, result: dict[str, Any]) -> None:
    """One task: every seed, their mean and its interval, and what it stands beside."""
    for steps, returns in points(result["runs"]):
        axes.plot(steps, returns, color=COLORS[0], alpha=0.25, linewidth=0.7)
    line(axes, curve(result["algorithm"], result["runs"]), COLORS[0])
    if "reference" in result:
        of = result["reference"]
        label = f"{of['algorithm']} of {LIBRARIES[of['library']]}"
        line(axes, curve(label, of["runs"]), INK, zorder=1.9)
    marks(axes, result)
    control = ", a control" if is_control(result) else ""
    title = f"{result['algorithm']} on {world(result)}{control}"
    axes.set(title=title, xlabel="environment steps", ylabel=RETURN)


def draw_comparison(axes: Any, compared: dict[str, dict[str, Any]]) -> None:
    if len(compared) > len(COLORS):
        raise ValueError(f"at most {len(COLORS)} tasks fit, got {len(compared)}")
    for color, result in zip(COLORS, compared.values(), strict=False):
        line(axes, curve(result["algorithm"], result["runs"]), color)
    title = ", ".join(dict.fromkeys(map(world, compared.values())))
    axes.set(title=title, xlabel="environment steps", ylabel=RETURN)


def draw_worlds(axes: Any, result: dict[str, Any]) -> None:
    """Every side's median over N, and a band from its slowest run to its fastest."""
    from matplotlib.ticker import EngFormatter

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
    axes.set_title(f"{result['env_id']}, {where(result)}")
    axes.set(xlabel="environments", ylabel="environment steps per second")


def points(runs: Sequence[dict[str, Any]]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Environment steps `[P]` and episode returns `[P]` of every seed."""
    keys = ("sample_step", "episode_return")
    return [
        tuple(np.array([point[key] for point in run["curve"]]) for key in keys)
        for run in runs
    ]


def curve(label: str, runs: Sequence[dict[str, Any]]) -> Curve:
    """Mean and 95 % bootstrap interval over the seeds of a learning result."""
    count = "1 seed" if len(runs) == 1 else f"{len(runs)} seeds"
    return aggregate(f"{label}, {count}", points(runs))


def marks(axes: Any, result: dict[str, Any]) -> None:
    """Level lines: what counts as learned, and what others report."""
    levels: list[tuple[float, str, str]] = []
    if result["threshold"] is not None:
        level = result["threshold"]
        levels.append((level, f"counts as learned: {level:g}", "--"))
    published = published_beside(result)
    if published is not None:
        label = f"{published.source}: {published.value:g}"
        levels.append((published.value, label, ":"))
    for level, label, style in levels:
        axes.axhline(level, color=INK, linewidth=0.9, linestyle=style, label=label)


# kind of result -> how it is drawn; claims draw theirs
DRAW = {"learning": draw_learning, "worlds": draw_worlds}
