"""Live plots of metrics in notebooks."""

from __future__ import annotations

import base64
import io
import math
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from yieldrl.loggers import arguments
from yieldrl.loggers.base import Logger, Stream
from yieldrl.loggers.notebook import in_notebook
from yieldrl.loggers.windowed_means import Row, WindowedMeans

Points = Sequence[tuple[float, float]]

POINTS = 300  # minimum per curve; at twice as many, pairs are averaged
TYPES = ("collect", "train", "evaluate")


@dataclass(eq=False)
class live_plot(Logger):  # noqa: N801 (used like a function)
    """Plot metrics in a notebook during training; does nothing elsewhere.

    The picture is redrawn in place, and stays in the saved notebook. A new loop over
    the same trainer continues the curves. ImportError without matplotlib.
    """

    metrics: Sequence[str] = (
        "collect/episode_return",
        "evaluate/episode_return",
        "train/loss",
    )
    """Metrics to plot, a panel each: type of log, slash, name of the metric."""

    every_seconds: float = 0.5
    """Least seconds between drawings, which take at most a tenth of the time."""

    _curves: weakref.WeakKeyDictionary[Any, Curves] = field(
        default_factory=weakref.WeakKeyDictionary, init=False, repr=False
    )

    def __post_init__(self) -> None:
        arguments.number("every_seconds", self.every_seconds, low=0)
        if isinstance(self.metrics, str):
            self.metrics = (self.metrics,)
        for metric in self.metrics:
            log_type, _, name = metric.partition("/")
            if log_type not in TYPES or not name:
                raise ValueError(
                    f"metrics: {metric!r} is not a type of log and a name; write for"
                    f" example 'train/loss' (types: {list(TYPES)})"
                )

    def run(self, trainer: Any, logs: Stream) -> Stream:
        """Redraw between logs when due, and at the end."""
        if not in_notebook():
            yield from logs
            return
        arguments.package("matplotlib", extra="plot")
        curves = self._curves.setdefault(trainer, Curves(self.metrics))
        means = WindowedMeans(max(1, trainer.config.total_steps // POINTS))
        place, due = None, 0.0
        try:
            for log in logs:
                if log["logs"]:
                    curves.extend(means.add(log))
                if log["logs"] and (now := perf_counter()) >= due:
                    curves.extend(means.flush())
                    place = _show(curves.points, place)
                    done = perf_counter()
                    due = done + max(self.every_seconds, 9 * (done - now))
                yield log
        finally:
            curves.extend(means.flush())
            _show(curves.points, place)


class Curves:
    """The points of the plotted metrics."""

    def __init__(self, metrics: Sequence[str]) -> None:
        self._series = {metric: _Series() for metric in metrics}

    @property
    def points(self) -> dict[str, Points]:
        """Metric -> points `(sample_step, value)`."""
        return {metric: series.points for metric, series in self._series.items()}

    def extend(self, rows: list[Row]) -> None:
        """Add the points of rows; ignores metrics that are not plotted."""
        for row in rows:
            for name, value in row["logs"].items():
                series = self._series.get(f"{row['log_type']}/{name}")
                if series is not None:
                    series.add(row["sample_step"], value)


class _Series:
    """A curve of limited size: each point is the mean of equally many values."""

    def __init__(self) -> None:
        self.points: list[tuple[float, float]] = []
        self._waiting: list[float] = []
        self._share = 1

    def add(self, step: float, value: float) -> None:
        self._waiting.append(value)
        if len(self._waiting) < self._share:
            return
        # A value that is not finite makes its point not finite, which shows as a gap.
        value = sum(self._waiting) / self._share
        self._waiting = []
        if self.points and self.points[-1][0] == step:  # same step as the last point
            self.points[-1] = (step, (self.points[-1][1] + value) / 2)
        else:
            self.points.append((step, value))
        if len(self.points) == 2 * POINTS:
            pairs = zip(self.points[::2], self.points[1::2], strict=True)
            self.points = [(x1, (y0 + y1) / 2) for (_, y0), (x1, y1) in pairs]
            self._share *= 2


def _show(curves: dict[str, Points], place: Any) -> Any:
    """Draw at `place` in the notebook's output, or at a new place; returns it."""
    from IPython.display import display

    picture = {"image/png": _png(curves)}
    if place is None:
        return display(picture, raw=True, display_id=True)
    place.update(picture, raw=True)
    return place


def _png(curves: dict[str, Points]) -> str:
    """PNG in base64 with one panel per curve, side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.4 * len(curves), 2.4), layout="constrained")
    for i, (title, curve) in enumerate(curves.items(), 1):
        axes = figure.add_subplot(1, len(curves), i)
        steps = [x for x, _ in curve]
        values = [y if abs(y) < 1e100 else math.nan for _, y in curve]  # NaN: a gap
        axes.plot(steps, values, linewidth=1.2, marker="." if len(curve) < 3 else "")
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("environment steps", fontsize=8)
        if not curve:
            middle = {"ha": "center", "transform": axes.transAxes}
            axes.text(0.5, 0.5, "nothing to draw", **middle)
        axes.tick_params(labelsize=8)
        axes.locator_params(axis="x", nbins=5)  # more tick labels would overlap
        axes.grid(alpha=0.3)
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=100)
    return base64.b64encode(png.getvalue()).decode()
