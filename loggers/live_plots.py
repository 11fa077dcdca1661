"""Live plots of metrics in notebooks."""

from __future__ import annotations

import io
import math
import weakref
from time import perf_counter
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, NonNegativeFloat
from pydantic.dataclasses import dataclass

from yieldrl.loggers.base import Logger, Stream, in_notebook, require_package
from yieldrl.loggers.windowed_means import WindowedMeans

Metric = Annotated[str, Field(pattern="^(collect|train|evaluate)/.")]
"""Type of log, slash, name of the metric."""

Curves = dict[str, list[tuple[float, float]]]
"""Metric -> points `(sample_step, value)`."""

POINTS = 300  # about as many for a curve


def _listed(metrics: Any) -> Any:
    return (metrics,) if isinstance(metrics, str) else metrics


@dataclass(eq=False)
class live_plot(Logger):  # noqa: N801 (used like a function)
    """Plot metrics in a notebook during training; does nothing elsewhere.

    The picture is redrawn in place, and stays in the saved notebook. A new loop over
    the same trainer continues the curves. ImportError without matplotlib.
    """

    metrics: Annotated[tuple[Metric, ...], BeforeValidator(_listed)] = (
        "collect/episode_return",
        "evaluate/episode_return",
        "train/loss",
    )
    """Metrics to plot, a panel each, for example `train/loss`."""

    every_seconds: NonNegativeFloat = 0.5
    """Least seconds between drawings, which take at most a tenth of the time."""

    def __post_init__(self) -> None:
        self._means: Any = weakref.WeakKeyDictionary()  # of each trainer

    def run(self, trainer: Any, logs: Stream) -> Stream:
        """Redraw between logs when due, and at the end."""
        if not in_notebook():
            yield from logs
            return
        require_package("matplotlib", extra="plot")
        new = WindowedMeans(max(1, trainer.config.total_steps // POINTS))
        means = self._means.setdefault(trainer, new)
        place, due = None, 0.0
        try:
            for log in logs:
                means.add(log)
                if log["logs"] and (now := perf_counter()) >= due:
                    place = _show(self.curves(trainer), place)
                    done = perf_counter()
                    due = done + max(self.every_seconds, 9 * (done - now))
                yield log
        finally:
            _show(self.curves(trainer), place)

    def curves(self, trainer: Any) -> Curves:
        """The curves of a trainer so far."""
        means = self._means[trainer]
        rows = [*means.due, *means.pending()]
        return {name: _points(rows, name) for name in self.metrics}


def _points(rows: list[Any], metric: str) -> list[tuple[float, float]]:
    log_type, _, name = metric.partition("/")
    return [
        (row["sample_step"], row["logs"][name])
        for row in rows
        if row["log_type"] == log_type and name in row["logs"]
    ]


def _show(curves: Curves, place: Any) -> Any:
    """Draw at `place` in the notebook's output, or at a new place; returns it."""
    from IPython.display import Image, display

    picture = Image(data=_png(curves), format="png")
    if place is None:
        return display(picture, display_id=True)
    place.update(picture)
    return place


def _png(curves: Curves) -> bytes:
    """A PNG with one panel per curve, side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.4 * len(curves), 2.4), layout="constrained")
    for i, (title, curve) in enumerate(curves.items(), 1):
        axes = figure.add_subplot(1, len(curves), i)
        steps = [x for x, _ in curve]
        values = [y if abs(y) < 1e100 else math.nan for _, y in curve]  # NaN: a gap
        axes.plot(steps, values, linewidth=1.2, marker="." if len(curve) < 3 else "")
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("environment steps", fontsize=8)
        axes.tick_params(labelsize=8)
        axes.locator_params(axis="x", nbins=5)  # more tick labels would overlap
        axes.grid(alpha=0.3)
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=100)
    return png.getvalue()
