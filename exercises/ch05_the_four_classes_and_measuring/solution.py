"""Chapter 5, the four classes, and measuring."""

import numpy as np


def iqm(scores: np.ndarray) -> float:
    """The interquartile mean of scores `[tasks, runs]`, all tasks pooled.

    Args:
        scores: A score for every run of every task, in no order; it stays as it is.

    Returns:
        The mean without the lowest and the highest quarter of all scores. A quarter is
        rounded down: of ten scores two are left out at each end.
    """
    # The gap. Pool, order, leave out, average; `np.sort` with `axis=None` does two.
    # gap: iqm: order all scores, leave a quarter out at each end
    ordered = np.sort(scores, axis=None)
    cut = len(ordered) // 4
    return float(ordered[cut : len(ordered) - cut].mean())
    # end


def resample(scores: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Scores `[tasks, runs]`, each task's drawn from its own runs.

    Args:
        scores: A score for every run of every task; it stays as it is.
        rng: Where all chance comes from.

    Returns:
        What other seeds might have given: each task has as many runs as before, drawn
        with replacement from the runs of that task (a stratum), each task by itself.
    """
    # The gap. Draw the numbers of runs, for each task its own: `rng.integers`.
    # gap: resample: draw runs of each task, with replacement
    drawn = rng.integers(scores.shape[1], size=scores.shape)
    return np.take_along_axis(scores, drawn, axis=1)
    # end


def interval(
    scores: np.ndarray, rng: np.random.Generator, resamples: int = 2000
) -> tuple[float, float]:
    """The 95 % bootstrap interval of the interquartile mean.

    Args:
        scores: A score for every run of every task.
        rng: Where all chance comes from.
        resamples: How often `resample` is called, with this rng.

    Returns:
        The 2.5 and the 97.5 percentile of the interquartile means of all resamples.
    """
    # The gap. Two lines: the IQM of every resample, and `np.percentile` of them.
    # gap: interval: percentiles of the IQMs of many resamples
    found = [iqm(resample(scores, rng)) for _ in range(resamples)]
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)
    # end
