"""Live plots of metrics in notebooks."""

import io
import math
import weakref
from time import perf_counter
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic.dataclasses import dataclass

from yieldrl.loggers.base import Logger, Stream, in_notebook, require_package
from yieldrl.loggers.writer import WindowedMeans

Metric = Annotated[str, Field(pattern="^(collect|train|evaluate)/.")]
"""Type of log, slash, name of the metric."""

Curves = dict[str, list[tuple[float, float]]]
"""Metric -> points `(sample_step, value)`."""

POINTS = 300  # about as many for a curve
EVERY_SECONDS = 0.5


def _listed(metrics: Any) -> Any:
    return (metrics,) if isinstance(metrics, str) else metrics


@dataclass(eq=False)
class live_plot(Logger):  # noqa: N801 (used like a function)
    """Plot metrics in a notebook during training; does nothing elsewhere.

    The picture is redrawn in place every half second, or less often, so that drawing
    takes a tenth of the time; it stays in the saved notebook. A new loop over the same
    trainer continues the curves. ImportError without matplotlib.
    """

    metrics: Annotated[tuple[Metric, ...], BeforeValidator(_listed)] = (
        "collect/episode_return",
        "evaluate/episode_return",
        "train/loss",
    )
    """Metrics to plot, a panel each, for example `train/loss`."""

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
                    due = done + max(EVERY_SECONDS, 9 * (done - now))
                yield log
        finally:
            _show(self.curves(trainer), place)

    def curves(self, trainer: Any) -> Curves:
        """The curves of a trainer so far."""
        means = self._means[trainer]
        curves: Curves = {metric: [] for metric in self.metrics}
        for row in (*means.due, *means.pending()):
            for name, value in row["logs"].items():
                if (metric := f"{row['log_type']}/{name}") in curves:
                    curves[metric].append((row["sample_step"], value))
        return curves


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
