"""The interquartile mean of several tasks, and its stratified bootstrap interval."""

import numpy as np


def iqm(scores: np.ndarray) -> float:
    """The interquartile mean of scores `[tasks, runs]`, all tasks pooled."""
    ordered = np.sort(scores, axis=None)
    cut = len(ordered) // 4
    return float(ordered[cut : len(ordered) - cut].mean())


def resample(scores: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Scores `[tasks, runs]`, each task's drawn from its own runs."""
    drawn = rng.integers(scores.shape[1], size=scores.shape)
    return np.take_along_axis(scores, drawn, axis=1)


def interval(
    scores: np.ndarray, rng: np.random.Generator, resamples: int = 2000
) -> tuple[float, float]:
    """The 95 % bootstrap interval of the interquartile mean."""
    found = [iqm(resample(scores, rng)) for _ in range(resamples)]
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)
