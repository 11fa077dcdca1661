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
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from yieldrl.core.config_blocks import nearest
from yieldrl.experiments import plot, run_files

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Kind = Literal["iqm", "improvement", "profile"]
Scores = dict[str, np.ndarray]
"""Algorithm -> the scores of its runs `[runs, tasks]`."""

_WIDTH = 40  # of a label, in characters


class Estimate(NamedTuple):
    """A statistic, and the ends of its 95 % interval; each of one shape."""

    value: Any
    low: Any
    high: Any


def iqm(scores: np.ndarray) -> Any:
    """Interquartile mean of scores `[..., runs, tasks]`: their mean without the lowest
    and the highest quarter, each rounded down.

    >>> float(iqm(np.array([[0.0, 1.0], [3.0, 100.0]])))
    2.0
    """
    ordered = np.sort(scores.reshape(*scores.shape[:-2], -1))
    cut = ordered.shape[-1] // 4
    return ordered[..., cut : ordered.shape[-1] - cut].mean(-1)


def improvement(x: np.ndarray, y: np.ndarray) -> Any:
    """Probability that a run of X has a higher score than one of Y, of the same task.

    Of scores `[..., runs, tasks]` it is the share of all pairs, the mean over tasks. A
    tie counts half.

    >>> float(improvement(np.array([[1.0], [3.0]]), np.array([[1.0], [2.0]])))
    0.625
    """
    x, y = x[..., :, None, :], y[..., None, :, :]
    return ((x > y) + 0.5 * (x == y)).mean((-3, -2, -1))


def profile(scores: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Performance profile `[..., P]`: the share of scores `[..., runs, tasks]` above
    each threshold `[P]`."""
    return (scores[..., None] > thresholds).mean((-3, -2))


def estimate(statistic: Callable[..., Any], *scores: np.ndarray) -> Estimate:
    """A statistic of one or two algorithms' scores `[runs, tasks]`, with its interval.

    The interval is from the 2.5 to the 97.5 percentile over stratified resamples, of
    each algorithm by itself, the same at each call.
    """
    rng = np.random.default_rng(0)
    drawn = []
    for each in scores:
        shape = (plot.RESAMPLES, *each.shape)
        runs = rng.integers(len(each), size=shape)  # of each task by itself
        drawn.append(np.take_along_axis(each[None], runs, axis=1))
    low, high = np.percentile(statistic(*drawn), [2.5, 97.5], axis=0)
    return Estimate(statistic(*scores), low, high)


def scores(
    runs: Sequence[str | Path],
    metric: str = "episode_return",
    log_type: str = "evaluate",
) -> tuple[list[str], Scores]:
    """The tasks, and the last value of a metric in every run by algorithm.

    Runs of an algorithm whose configs differ, on the same task, in more than the seed
    count as several algorithms, as in `plot`. Another task may have another config.

    Raises:
        FileNotFoundError: If a path leads to no run.
        ValueError: If a run does not say its task, did not log the metric, or is not
            finished; or if not every algorithm has as many runs, two at least, of each
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
    if not of_task:
        raise ValueError("no runs: name at least one folder of a run")
    found: dict[str, dict[str, list[float]]] = {}
    for task, settings in of_task.items():
        for run, label in plot.labels(settings).items():
            score = _last(run, metric, log_type)
            found.setdefault(label, {}).setdefault(task, []).append(score)
    _refuse_gaps(found, tasks := list(of_task))
    return tasks, {
        label: np.array([of[task] for task in tasks]).T for label, of in found.items()
    }


def _last(run: Path, metric: str, log_type: str) -> float:
    """The last value of a finished run."""
    steps, values = run_files.read_curve(run, metric, log_type)
    reached = steps[-1] if log_type == "evaluate" else run_files.last_step(run)
    total = run_files.read_config(run).get("total_steps", 0)
    if reached < total:
        raise ValueError(
            f"{run}: its last {log_type}/{metric} is of step {reached:,} of {total:,}:"
            " the final one is missing. Finish the run (yieldrl resume) or leave it out"
        )
    if not math.isfinite(values[-1]):
        raise ValueError(f"{run}: its last {log_type}/{metric} is {values[-1]}")
    return float(values[-1])


def _refuse_gaps(
    found: Mapping[str, Mapping[str, list[float]]], tasks: list[str]
) -> None:
    """Raise ValueError unless all have equally many runs of each task, two at least."""
    for label, of in found.items():
        counts = {task: len(of.get(task, ())) for task in tasks}
        if 0 in counts.values():
            lacks = ", ".join(task for task, count in counts.items() if count == 0)
            raise ValueError(
                f"{label} has no run of {lacks}: train it there too, or compare the"
                " tasks one by one, naming the runs of one"
            )
        if len({*counts.values()}) > 1:
            said = ", ".join(f"{count} of {task}" for task, count in counts.items())
            raise ValueError(
                f"{label} has not as many runs of every task: {said}. Train those that"
                " are missing, with other seeds, or leave some out"
            )
        if 1 in counts.values():
            raise ValueError(
                f"{label} has one run of {tasks[0]}, which says nothing about the next"
                " one: train it with another --seed, five are a good number"
            )


def parse_ranges(words: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Task -> the scores that become 0 and 1, of words `TASK=LOW:HIGH`.

    ValueError if a word is something else.
    """
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


def normalized(
    tasks: list[str], scores: Scores, ranges: Mapping[str, tuple[float, float]]
) -> Scores:
    """Scores with a task's LOW as 0 and its HIGH as 1; those of one task may stay.

    ValueError if a range is missing, or is of another task.
    """
    for task in ranges:
        if task not in tasks:
            raise ValueError(
                f"--normalize {task}: no run is of this task: {nearest(task, tasks)}"
            )
    if not ranges and len(tasks) == 1:
        return scores
    lacking = [task for task in tasks if task not in ranges]
    if lacking:
        wanted = " ".join(f"{task}=LOW:HIGH" for task in lacking)
        raise ValueError(
            "scores of several tasks are put together in one unit: say which become 0"
            " and 1, for example what a random policy and a very good one reach:"
            f" --normalize {wanted}"
        )
    low, high = (np.array([ranges[task][end] for task in tasks]) for end in (0, 1))
    return {label: (each - low) / (high - low) for label, each in scores.items()}


def draw(
    kind: Kind,
    runs: Sequence[str | Path],
    out: str | Path,
    *,
    metric: str = "episode_return",
    log_type: str = "evaluate",
    ranges: Mapping[str, tuple[float, float]] | None = None,
) -> list[Path]:
    """Write a comparison as a PNG and an SVG file; both files.

    Args:
        kind: `iqm` is the interquartile mean of each algorithm, `improvement` the
            probability that one is better than another, `profile` the share of runs
            above each score.
        runs: Folders of runs, or folders that hold such folders.
        out: File to write, with the endings `.png` and `.svg`.
        metric: The score: the last value of this metric.
        log_type: Where it was logged.
        ranges: Task -> the scores that become 0 and 1; needed for `iqm` and `profile`
            of several tasks.

    Raises:
        FileNotFoundError: If a path leads to no run.
        ValueError: As `scores` and `normalized`; and for `improvement` of a single
            algorithm.
        ImportError: If matplotlib is not installed.
    """
    tasks, by_algorithm = scores(runs, metric, log_type)
    if kind != "improvement" or ranges:
        by_algorithm = normalized(tasks, by_algorithm, ranges or {})
    unit = f"{log_type}/{metric}" + (", normalized" if ranges else "")
    return plot.save(figure(kind, tasks, by_algorithm, unit), out)


def figure(kind: Kind, tasks: Sequence[str], scores: Scores, unit: str) -> Figure:
    """The matplotlib figure of a comparison; a notebook shows it.

    ValueError for `improvement` of a single algorithm.
    """
    counts = sorted({len(each) for each in scores.values()})
    over = tasks[0] if len(tasks) == 1 else f"each of {len(tasks)} tasks"
    title = f"{' or '.join(map(str, counts))} runs of each algorithm on {over};"
    title += " bands are 95 % bootstrap intervals"
    if kind == "profile":
        picture = _profiles(scores, unit)
    elif kind == "iqm":
        rows = {label: estimate(iqm, each) for label, each in scores.items()}
        picture = _bars(rows, f"interquartile mean of {unit}")
    else:
        if len(scores) < 2:
            raise ValueError(
                f"all runs are of {next(iter(scores))}: to compare, name runs of a"
                " second algorithm too"
            )
        rows = {
            f"{x} > {y}": estimate(improvement, scores[x], scores[y])
            for x, y in itertools.combinations(scores, 2)
        }
        picture = _bars(rows, f"probability of a higher {unit}")
        axes = picture.axes[0]
        axes.set_xlim(-0.02, 1.02)
        axes.axvline(0.5, color="gray", linestyle="--", linewidth=1)
    picture.axes[0].set_title(title, fontsize="small")
    return picture


def _bars(rows: Mapping[str, Estimate], xlabel: str) -> Figure:
    """A row for each estimate: its interval as a bar, its value as a line."""
    texts = [
        plot.wrapped(label, _WIDTH) + f"\n{e.value:.3g} ({e.low:.3g} to {e.high:.3g})"
        for label, e in rows.items()
    ]
    lines = sum(text.count("\n") + 2 for text in texts)
    picture = plot.blank(7, 1 + 0.18 * lines)
    axes = picture.subplots()
    axes.use_sticky_edges = False  # else no space is left of the first bar
    for i, e in enumerate(rows.values()):
        axes.barh(i, e.high - e.low, left=e.low, height=0.6, alpha=0.4, color=f"C{i}")
        axes.vlines(e.value, i - 0.3, i + 0.3, color=f"C{i}", linewidth=2)
    axes.set_yticks(range(len(rows)), texts)
    axes.invert_yaxis()
    axes.set_xlabel(xlabel)
    axes.grid(axis="x", alpha=0.3)
    return picture


def _profiles(scores: Scores, unit: str) -> Figure:
    """A line for each algorithm: which share of its runs has a score above x."""
    values = np.unique(np.concatenate([each.ravel() for each in scores.values()]))
    margin = 0.03 * (np.ptp(values) or 1.0)
    thresholds = np.array([values[0] - margin, *values, values[-1] + margin])
    picture = plot.blank(7, 4.2 + 0.2 * len(scores) / 2)
    axes = picture.subplots()
    for label, each in scores.items():
        e = estimate(lambda drawn: profile(drawn, thresholds), each)
        axes.step(thresholds, e.value, where="post", label=plot.wrapped(label, _WIDTH))
        band = {"step": "post", "alpha": 0.2, "linewidth": 0}
        axes.fill_between(thresholds, e.low, e.high, **band)
    axes.set(xlabel=unit, ylabel="share of runs with a higher score")
    axes.set_ylim(-0.02, 1.02)
    axes.grid(alpha=0.3)
    picture.legend(loc="outside lower center", ncols=2, fontsize="small")
    return picture
