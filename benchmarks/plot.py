"""Draw the learning curves of committed results as PNG and SVG."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from . import results

CONFIDENCE = 0.95
RESAMPLES = 2000


def curves(result: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Environment steps `[P]` and episode returns `[seeds, P]` of a learning result."""
    points = [run["curve"] for run in result["runs"]]
    steps = np.array([point["sample_step"] for point in points[0]])
    returns = [[point["episode_return"] for point in curve] for curve in points]
    return steps, np.array(returns)


def interval(returns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Percentile bootstrap interval `[P]` of the mean over seeds.

    Resampling whole seeds keeps the interval within the returns that occurred, where
    mean and standard error would promise more than 500 in CartPole.

    Args:
        returns: Episode returns `[seeds, P]`.
    """
    seeds = len(returns)
    chosen = np.random.default_rng(0).integers(seeds, size=(RESAMPLES, seeds))
    means = returns[chosen].mean(axis=1)  # [RESAMPLES, P]
    low, high = np.quantile(means, [0.5 - CONFIDENCE / 2, 0.5 + CONFIDENCE / 2], axis=0)
    return low, high


def draw(result: dict[str, Any], path: Path) -> list[Path]:
    """Draw one learning result to `path` with the suffixes `.png` and `.svg`."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    steps, returns = curves(result)
    low, high = interval(returns)
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.plot(steps, returns.T, color="C0", alpha=0.2, linewidth=0.8)
    axes.fill_between(steps, low, high, color="C0", alpha=0.25, linewidth=0)
    axes.plot(steps, returns.mean(axis=0), color="C0", linewidth=2)
    axes.axhline(result["threshold"], color="0.4", linewidth=0.8, linestyle="--")
    config = result["whole_config"]
    axes.set_title(
        f"{result['algorithm'].upper()} on {config['env_id']}: mean of"
        f" {len(returns)} seeds, {CONFIDENCE:.0%} interval",
        fontsize=10,
    )
    axes.set_xlabel("environment steps")
    axes.set_ylabel("return of deterministic episodes")
    axes.grid(alpha=0.3)
    written = [path.with_suffix(suffix) for suffix in (".png", ".svg")]
    # The same data give the same files: no date, no random ids.
    with mpl.rc_context({"svg.hashsalt": path.stem}):
        figure.savefig(written[0], dpi=150, metadata={"Software": None})
        figure.savefig(written[1], metadata={"Date": None})
    return written


def draw_all(folder: Path = results.FOLDER) -> Iterator[Path]:
    """Draw every learning result of a folder, and give the files written."""
    for path in sorted(folder.glob("*.json")):
        result = results.load(path)
        if result["kind"] == "learning":
            yield from draw(result, path)
