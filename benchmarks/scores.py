"""Scores of few runs: their interquartile mean, and how sure one can be of it.

Agarwal et al. 2021, arXiv:2108.13264, section 4.3; a trial has one world, one stratum.
"""

from collections.abc import Sequence

import numpy as np

from yieldrl.experiments import comparison
from yieldrl.experiments.plot import RESAMPLES


def iqm(values: np.ndarray) -> np.ndarray:
    """Mean of values `[..., runs]` without a quarter, rounded down, at each end."""
    return comparison.iqm(values[..., np.newaxis])  # of one task


def interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ends `[...]` of the interval around the interquartile mean of `[..., runs]`.

    From three runs on the 2.5 and 97.5 percentiles of that mean over runs drawn with
    replacement, the same draws at each call; below, least and greatest.
    """
    count = values.shape[-1]
    if count < 3:
        return values.min(-1), values.max(-1)
    drawn = np.random.default_rng(0).integers(count, size=(RESAMPLES, count))
    means = iqm(values[..., drawn])  # [..., RESAMPLES]
    low, high = np.percentile(means, [2.5, 97.5], axis=-1)
    return low, high


def difference(
    mine: np.ndarray, theirs: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By how much one side's interquartile mean is above the other's, with an interval.

    Values are `[..., runs]`, of any number of runs, drawn with replacement and each
    side's by themselves: runs of the same seed are hardly alike. The difference `[...]`
    comes with the 2.5 and the 97.5 percentile of the resamples' differences.
    """
    rng = np.random.default_rng(0)
    drawn = [
        iqm(of[..., rng.integers(of.shape[-1], size=(RESAMPLES, of.shape[-1]))])
        for of in (mine, theirs)
    ]
    low, high = np.percentile(drawn[0] - drawn[1], [2.5, 97.5], axis=-1)
    return iqm(mine) - iqm(theirs), low, high


def text(values: Sequence[float] | np.ndarray, digits: int = 4) -> str:
    """Interquartile mean and interval of runs, in significant digits."""
    of = np.array(values)
    numbers = (float(iqm(of)), *map(float, interval(of)))
    middle, low, high = (f"{number:.{digits}g}" for number in numbers)
    return f"{middle} ({low} to {high})"
