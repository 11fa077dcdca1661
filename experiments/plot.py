"""Learning curves over seeds: one line per setting, with an interval around it.

Runs whose configs differ in the seed alone belong together. From three runs on the band
is the 95 % bootstrap interval of the mean over runs (Agarwal et al. 2021, "Deep
Reinforcement Learning at the Edge of the Statistical Precipice", arXiv:2108.13264;
their interquartile mean would throw away half of a few runs of one task). With two
runs it spans both, with one there is none.
"""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from yieldrl.experiments import run_files

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESAMPLES = 2000
_SUFFIXES = (".png", ".svg")
_LABEL_WIDTH = 44  # of the legend, below the axes
OF_ONE_RUN = ("seed", "run_name", "run_root", "device", "threads", "loggers")
"""Fields in which the runs of one group may differ."""


@dataclass(frozen=True)
class Curve:
    """Several runs as one line: their mean `[P]`, and the ends of its interval."""

    label: str  # the name, and what tells it from other curves
    steps: np.ndarray  # environment steps reached by all runs
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    num_runs: int


def save(drawing: Figure, out: str | Path) -> list[Path]:
    """Write a figure as a PNG and an SVG file; both files."""
    out = Path(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    stem = out.stem if out.suffix in _SUFFIXES else out.name
    files = [out.with_name(stem + suffix) for suffix in _SUFFIXES]
    for file in files:
        drawing.savefig(file, dpi=150)
    return files


def curves(
    runs: Sequence[str | Path],
    metric: str = "episode_return",
    log_type: str = "evaluate",
) -> list[Curve]:
    """One curve for each group of runs that differ in their seed alone.

    Args:
        runs: Folders of runs, or folders that hold such folders.
        metric: Metric to draw.
        log_type: Where it was logged: `collect`, `train` or `evaluate`.

    Raises:
        FileNotFoundError: If a path leads to no run.
        ValueError: If no run logged the metric, or there is no run.
    """
    folders = run_files.find_runs(runs)
    settings = {folder: setting(folder) for folder in folders}
    groups: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    lacking: list[str] = []
    for folder, label in labels(settings).items():
        try:
            curve = run_files.read_curve(folder, metric, log_type)
        except ValueError as reason:
            lacking.append(str(reason))
        else:
            groups.setdefault(label, []).append(curve)
    if not groups:
        raise ValueError(lacking[0])
    for reason in lacking:
        warnings.warn(f"left out: {reason}", stacklevel=2)
    return [aggregate(label, group) for label, group in groups.items()]


def aggregate(label: str, runs: list[tuple[np.ndarray, np.ndarray]]) -> Curve:
    """Mean and interval of several runs, over the steps that all of them cover.

    Each run has steps `[P_i]` and values `[P_i]`; where steps differ, values
    are interpolated linearly.
    """
    first = max(steps[0] for steps, _ in runs)
    last = min(steps[-1] for steps, _ in runs)
    steps = np.unique(np.concatenate([steps for steps, _ in runs]))
    steps = steps[(steps >= first) & (steps <= last)]
    if len(steps) == 0:
        raise ValueError(f"{label}: these runs have no step in common: plot them apart")
    values = np.stack([np.interp(steps, *run) for run in runs])  # [runs, P]
    low, high = interval(values)
    return Curve(label, steps, values.mean(0), low, high, len(runs))


def interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ends `[P]` of the interval around the mean of values `[runs, P]`.

    From three runs on the 2.5 and 97.5 percentiles of the mean over runs drawn with
    replacement (Efron 1979), the same draws at each call; below, least and greatest.
    """
    count = len(values)
    if count < 3:
        return values.min(0), values.max(0)
    equal, rng = np.full(count, 1 / count), np.random.default_rng(0)
    means = rng.multinomial(count, equal, RESAMPLES) @ values / count  # [RESAMPLES, P]
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return low, high


def blank(width: float, height: float) -> Figure:
    """An empty matplotlib figure; ImportError if matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError as reason:
        remedy = "plots need matplotlib: pip install 'yieldrl[plot]'"
        raise ImportError(remedy) from reason

    return Figure(figsize=(width, height), layout="constrained")


def figure(drawn: Sequence[Curve], ylabel: str, width: float = 7) -> Figure:
    """The matplotlib figure of some curves, so many inches wide; a notebook shows it.

    ImportError if matplotlib is not installed.
    """
    texts = [_legend_text(curve) for curve in drawn]
    lines = sum(text.count("\n") + 1 for text in texts)
    columns = max(1, int(width / 3.5))
    picture = blank(width, 0.6 * width + 0.2 * lines / columns)
    axes = picture.subplots()
    for curve, label in zip(drawn, texts, strict=True):
        axes.plot(curve.steps, curve.mean, label=label)
        axes.fill_between(curve.steps, curve.low, curve.high, alpha=0.2, linewidth=0)
    axes.set(xlabel="environment steps", ylabel=wrapped(ylabel, _LABEL_WIDTH))
    axes.locator_params(axis="x", nbins=int(1.3 * width))  # more labels would overlap
    axes.grid(alpha=0.3)
    picture.legend(loc="outside lower center", ncols=columns, fontsize="small")
    return picture


def _legend_text(curve: Curve) -> str:
    runs = f"{curve.num_runs} run" + ("s" if curve.num_runs > 1 else "")
    return wrapped(f"{curve.label} ({runs})", _LABEL_WIDTH)


def wrapped(text: str, width: int) -> str:
    """Text in lines of at most `width` characters, in which `$` begins no formula."""
    return textwrap.fill(text, width).replace("$", r"\$")


def setting(run: Path) -> dict[str, Any]:
    """The algorithm's name, as the field "", and all fields but those of one run."""
    config, module = run_files.read_config(run), run_files.read_run(run).get("trainer")
    if not config or not module:
        return {"": run.name}
    fields = {k: value for k, value in config.items() if k not in OF_ONE_RUN}
    return {"": run_files.algorithm_name(str(module)), **fields}


def labels(settings: dict[Path, dict[str, Any]]) -> dict[Path, str]:
    """The algorithm's name, the environment's if there are several, and the fields in
    which runs of one algorithm differ."""
    all_envs = [fields.get("env_id") for fields in settings.values()]
    found: dict[Path, str] = {}
    for run, fields in settings.items():
        alike = [each for each in settings.values() if each[""] == fields[""]]
        values = [
            f"{name}={value}"
            for name, value in fields.items()
            if any(each.get(name) != value for each in alike)
            or (name == "env_id" and any(env_id != value for env_id in all_envs))
        ]
        found[run] = " ".join([fields[""], *values])
    return found
