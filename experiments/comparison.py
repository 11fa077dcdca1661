"""Algorithms compared by the scores of their runs, over one task or several.

The statistics are those of Agarwal et al. 2021, "Deep Reinforcement Learning at the
Edge of the Statistical Precipice", arXiv:2108.13264. A score is what a run reached in
its last evaluation. Intervals are 95 % stratified bootstrap intervals: every resample
draws from the runs of each task, with replacement, as many as there are.

The package of its authors, rliable, takes what `scores` returns. It is not needed here:
it brings pandas and SciPy along for a few lines, and it draws from NumPy's global
generator whatever the seed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from yieldrl.core.config_blocks import nearest
from yieldrl.experiments import plot, run_files

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Kind = Literal["iqm", "improvement", "profile"]
Scores = dict[str, np.ndarray]
"""Algorithm -> the scores of its runs `[runs, tasks]`."""
Ranges = Mapping[str, tuple[float, float]]
"""Task -> the scores that become 0 and 1."""

_WIDTH = 40  # of a label, in characters


def iqm(scores: np.ndarray) -> Any:
    """Interquartile mean of scores `[..., runs, tasks]`: their mean without the lowest
    and the highest quarter, each rounded down."""
    ordered = np.sort(scores.reshape(*scores.shape[:-2], -1))
    cut = ordered.shape[-1] // 4
    return ordered[..., cut : ordered.shape[-1] - cut].mean(-1)


def improvement(x: np.ndarray, y: np.ndarray) -> Any:
    """Probability that a run of X beats one of Y on the same task, the mean over tasks.

    The share of all pairs of scores `[..., runs, tasks]`, where a tie counts half.
    """
    x, y = x[..., :, None, :], y[..., None, :, :]
    return ((x > y) + 0.5 * (x == y)).mean((-3, -2, -1))


def profile(scores: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Performance profile `[..., P]`: the share of scores `[..., runs, tasks]` above
    each threshold `[P]`."""
    return (scores[..., None] > thresholds).mean((-3, -2))


def estimate(
    statistic: Callable[..., Any], *scores: np.ndarray
) -> tuple[Any, Any, Any]:
    """A statistic of the scores `[runs, tasks]` of one or two algorithms, and the ends
    of its interval: 2.5 and 97.5 percentile over resamples, the same at each call."""
    rng, drawn = np.random.default_rng(0), []
    for each in scores:
        shape = (plot.RESAMPLES, *each.shape)
        runs = rng.integers(len(each), size=shape)  # of each task by itself
        drawn.append(np.take_along_axis(each[None], runs, axis=1))
    low, high = np.percentile(statistic(*drawn), [2.5, 97.5], axis=0)
    return statistic(*scores), low, high


def scores(
    runs: Sequence[str | Path],
    metric: str = "episode_return",
    log_type: str = "evaluate",
) -> tuple[list[str], Scores]:
    """The tasks, and the last value of a metric in every run by algorithm.

    Runs whose configs differ, on the same task, in more than the seed are of several
    algorithms, as in `plot`. Another task may have another config.

    Raises:
        FileNotFoundError: If a path leads to no run.
        ValueError: If a run does not say its task, did not log the metric or is not
            finished, or not every algorithm has as many runs, two at least, of each
            task.
    """
    of_task: dict[str, dict[Path, dict[str, Any]]] = {}
    for run in run_files.find_runs(runs):
        fields = plot.setting(run)
        if "env_id" not in fields:
            raise ValueError(
                f"{run}: no {run_files.CONFIG} and {run_files.RUN}, which say what was"
                " trained on which task: leave this run out"
            )
        of_task.setdefault(fields["env_id"], {})[run] = fields
    found: dict[str, dict[str, list[float]]] = {}
    for task, settings in of_task.items():
        for run, label in plot.labels(settings).items():
            score = _last(run, settings[run]["total_steps"], metric, log_type)
            found.setdefault(label, {}).setdefault(task, []).append(score)
    for label, of in found.items():
        counts = {task: len(of.get(task, ())) for task in of_task}
        if len({*counts.values()}) > 1 or 1 in counts.values():
            said = ", ".join(f"{count} of {task}" for task, count in counts.items())
            raise ValueError(
                f"{label} has these runs: {said}. It needs as many of every task, two"
                " at least: train what is missing, with other seeds (five are a good"
                " number), or name fewer runs"
            )
    tasks = list(of_task)
    matrices = {x: np.array([of[t] for t in tasks]).T for x, of in found.items()}
    return tasks, matrices


def _last(run: Path, total: int, metric: str, log_type: str) -> float:
    """The last value of a finished run."""
    steps, values = run_files.read_curve(run, metric, log_type)
    reached = steps[-1] if log_type == "evaluate" else run_files.last_step(run)
    if reached < total or not math.isfinite(values[-1]):
        raise ValueError(
            f"{run}: its last {log_type}/{metric} is {values[-1]:g}, of step"
            f" {reached:,} of {total:,}: there must be a final one, and a number."
            " Finish the run (yieldrl resume), or leave it out"
        )
    return float(values[-1])


def parse_ranges(words: Sequence[str]) -> dict[str, tuple[float, float]]:
    """The ranges that words `TASK=LOW:HIGH` say; ValueError if one says none."""
    ranges: dict[str, tuple[float, float]] = {}
    for word in words:
        task, _, limits = word.rpartition("=")
        try:
            low, high = map(float, limits.split(":"))
        except ValueError:
            low = high = math.nan
        if not task or not math.isfinite(high - low) or high == low:
            raise ValueError(
                f"--normalize {word}: write TASK=LOW:HIGH, the scores that become 0 and"
                " 1, as in CartPole-v1=0:500"
            )
        ranges[task] = low, high
    return ranges


def normalized(tasks: list[str], scores: Scores, ranges: Ranges) -> Scores:
    """Scores from 0 to 1 as the ranges say; ValueError if one is missing, or is of
    another task."""
    for task in ranges:
        if task not in tasks:
            raise ValueError(
                f"--normalize {task}: no run is of this task: {nearest(task, tasks)}"
            )
    lacking = " ".join(f"{task}=LOW:HIGH" for task in tasks if task not in ranges)
    if lacking:
        raise ValueError(
            "scores of several tasks are put together in one unit: say which become 0"
            " and 1, for example what a random policy and a very good one reach:"
            f" --normalize {lacking}"
        )
    low, high = np.array([ranges[task] for task in tasks]).T
    return {label: (each - low) / (high - low) for label, each in scores.items()}


def figure(
    kind: Kind,
    runs: Sequence[str | Path],
    ranges: Ranges | None = None,
    *,
    metric: str = "episode_return",
    log_type: str = "evaluate",
) -> Figure:
    """The matplotlib figure of a comparison; a notebook shows it.

    Args:
        kind: `iqm` is the interquartile mean of each algorithm, `improvement` the
            probability that one is better than another, `profile` the share of runs
            above each score.
        runs: Folders of runs, or folders that hold such folders.
        ranges: Units for `iqm` and `profile` of several tasks.
        metric: The score: the last value of this metric.
        log_type: Where it was logged.

    Raises:
        ValueError: As `scores` and `normalized`, and for `improvement` of a single
            algorithm.
        ImportError: If matplotlib is not installed.
    """
    tasks, of = scores(runs, metric, log_type)
    if ranges or (kind != "improvement" and len(tasks) > 1):
        of = normalized(tasks, of, ranges or {})
    unit = f"{log_type}/{metric}" + (", normalized" if ranges else "")
    if kind == "profile":
        picture = _profiles(of, unit)
    elif kind == "iqm":
        rows = {label: estimate(iqm, each) for label, each in of.items()}
        picture = _bars(rows, f"interquartile mean of {unit}")
    elif len(of) < 2:
        name = next(iter(of))
        raise ValueError(f"all runs are of {name}: name some of another algorithm too")
    else:
        pairs = itertools.combinations(of, 2)
        rows = {f"{x} > {y}": estimate(improvement, of[x], of[y]) for x, y in pairs}
        picture = _bars(rows, f"probability of a higher {unit}")
        picture.axes[0].set_xlim(-0.02, 1.02)
        picture.axes[0].axvline(0.5, color="gray", linestyle="--", linewidth=1)
    counts = " or ".join(map(str, sorted({len(each) for each in of.values()})))
    over = tasks[0] if len(tasks) == 1 else f"each of {len(tasks)} tasks"
    title = f"{counts} runs of each algorithm on {over}; 95 % bootstrap intervals"
    picture.axes[0].set_title(title, fontsize="small")
    return picture


def _bars(rows: Mapping[str, tuple[Any, Any, Any]], xlabel: str) -> Figure:
    """A row for each estimate: its interval as a bar, its value as a line."""
    texts = []
    for label, (value, low, high) in rows.items():
        parts = label.split(" > ") if len(label) > _WIDTH else [label]
        name = "\n> ".join(plot.wrapped(part, _WIDTH) for part in parts)
        texts.append(f"{name}\n{value:.3g} ({low:.3g} to {high:.3g})")
    lines = sum(text.count("\n") + 2 for text in texts)
    picture = plot.blank(7, 1 + 0.18 * lines)
    axes = picture.subplots()
    axes.use_sticky_edges = False  # else no space is left of the first bar
    for i, (value, low, high) in enumerate(rows.values()):
        axes.barh(i, high - low, left=low, height=0.6, alpha=0.4, color=f"C{i}")
        axes.vlines(value, i - 0.3, i + 0.3, color=f"C{i}", linewidth=2)
    axes.set_yticks(range(len(rows)), texts)
    axes.invert_yaxis()
    axes.set_xlabel(xlabel)
    axes.grid(axis="x", alpha=0.3)
    return picture


def _profiles(scores: Scores, unit: str) -> Figure:
    """A line for each algorithm: which share of its runs has a score above x."""
    values = np.unique(np.concatenate([each.ravel() for each in scores.values()]))
    margin = 0.03 * (np.ptp(values) or 1.0)
    x = np.array([values[0] - margin, *values, values[-1] + margin])
    picture = plot.blank(7, 4.2 + 0.1 * len(scores))
    axes = picture.subplots()
    for label, each in scores.items():
        share, low, high = estimate(lambda drawn: profile(drawn, x), each)
        axes.step(x, share, where="post", label=plot.wrapped(label, _WIDTH))
        axes.fill_between(x, low, high, step="post", alpha=0.2, linewidth=0)
    axes.set(xlabel=unit, ylabel="share of runs with a higher score")
    axes.set_ylim(-0.02, 1.02)
    axes.grid(alpha=0.3)
    picture.legend(loc="outside lower center", ncols=2, fontsize="small")
    return picture
