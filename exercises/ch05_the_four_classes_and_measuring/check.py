"""What holds of an interquartile mean and of its stratified bootstrap interval."""

from __future__ import annotations

from typing import Any

import numpy as np

from yieldrl.exercises.checking import expect, expect_close

HINTS = {
    "mean": "that is the mean of all scores: leave out a quarter at each end",
    "median": "that is the median: the mean of the middle half is asked for",
    "one end": "only the highest quarter is left out: both ends lose theirs",
    "other end": "only the lowest quarter is left out: both ends lose theirs",
    "unordered": "the scores are not ordered before the quarters are cut off",
    "half each": "an eighth is cut at each end: a quarter is, so that half remains",
    "per task": "the quarters are cut in each task: pool all scores first",
    "task means": "means over tasks are taken first: pool the scores themselves",
    "up": "the quarter is rounded up: round it down, `len // 4`",
    "90": "from 5 to 95 is an interval of 90 %: 2.5 to 97.5",
    "extremes": "those are the extremes of the resamples: take percentiles",
    "scores": "those are percentiles of the scores: take them of the IQMs of resamples",
    "of means": "the resamples' plain means are taken: take their `iqm`",
    "normal": "that is mean and standard error, for a normal distribution: resample",
}
"""Mistake -> what to say of it."""


def _right_iqm(scores: np.ndarray) -> float:
    """The mean of the middle half of all scores."""
    ordered = np.sort(scores.reshape(-1))
    cut = ordered.size // 4
    return float(ordered[cut : ordered.size - cut].mean())


def _cut_off(scores: np.ndarray, low: int, high: int) -> float:
    """The mean of what is left without so many at each end."""
    ordered = np.sort(scores.reshape(-1))
    return float(ordered[low : ordered.size - high].mean())


def _as_if(scores: np.ndarray) -> dict[str, float]:
    """Known mistakes -> the number that each makes of scores `[tasks, runs]`."""
    flat, quarter = scores.reshape(-1), scores.size // 4
    return {
        "mean": float(flat.mean()),
        "median": float(np.median(flat)),
        "one end": _cut_off(scores, 0, quarter),
        "other end": _cut_off(scores, quarter, 0),
        "unordered": float(flat[quarter : flat.size - quarter].mean()),
        "half each": _cut_off(scores, scores.size // 8, scores.size // 8),
        "per task": float(np.mean([_right_iqm(row) for row in scores])),
        "task means": _right_iqm(scores.mean(0)),
        "up": _cut_off(scores, -(-scores.size // 4), -(-scores.size // 4)),
    }


def _expect_iqm(answer: Any, scores: np.ndarray, *mistakes: str) -> None:
    """Compare the answer's mean with the right one and with those of mistakes."""
    wrong, own = _as_if(scores), scores.copy()
    known = {HINTS[name]: wrong[name] for name in mistakes}
    got = answer.iqm(own)
    expect_close(got, _right_iqm(scores), named="iqm", mistakes=known)
    hint = "the argument was changed in place: `np.sort` makes a new array"
    expect_close(own, scores, named="scores", hint=hint)


def middle_half(answer: Any) -> None:
    """The interquartile mean is the mean of the middle half of the scores."""
    scores = np.array([[9.0, 1.0, 30.0, 4.0, 0.0, 16.0, 2.0, 5.0]])
    mistakes = ("mean", "median", "one end", "other end", "unordered", "half each")
    _expect_iqm(answer, scores, *mistakes)


def rounded_down(answer: Any) -> None:
    """Of ten scores two are left out at each end: a quarter is rounded down."""
    scores = np.array([[7.0, 0.0, 1.0, 3.0, 12.0, 5.0, 20.0, 2.0, 40.0, 9.0]])
    _expect_iqm(answer, scores, "up", "mean", "half each")


def pooled(answer: Any) -> None:
    """The scores of all tasks are pooled before the quarters are left out."""
    scores = np.array([[0.0, 1.0, 3.0, 2.0], [60.0, 40.0, 90.0, 50.0], [5, 4, 9, 8]])
    _expect_iqm(answer, scores, "per task", "task means", "mean")


def own_runs(answer: Any) -> None:
    """A resample has as many runs of every task, and each is one of that task."""
    scores = _scores()
    own = scores.copy()
    rng = np.random.default_rng(5)
    got = np.array([_resample(answer, own, rng) for _ in range(50)])
    hint = "the argument was changed in place: make a new array"
    expect_close(own, scores, named="scores", hint=hint)
    for task, row in enumerate(scores):
        foreign = np.setdiff1d(got[:, task], row)
        expect(
            foreign.size == 0,
            f"a resample of task {task} holds {foreign[:1]}, which is another task's",
            "runs of one task are drawn for another: draw within each row",
        )


def replaced(answer: Any) -> None:
    """Runs are drawn with replacement, all of them alike, and anew each time."""
    scores, rng = _scores(), np.random.default_rng(6)
    got = np.array([_resample(answer, scores, rng) for _ in range(400)])
    expect(
        bool((got != got[0]).any()),
        "400 resamples are all the same",
        "draw from the `rng` that is given, not from a new one",
    )
    ordered = np.sort(got, axis=2)
    twice = (ordered[:, :, 1:] == ordered[:, :, :-1]).any(2)
    expect(
        bool(twice.any()),
        "no run is ever drawn twice",
        "the runs are only shuffled: draw with replacement",
    )
    for task, row in enumerate(scores):
        shares = np.array([(got[:, task] == score).mean() for score in row])
        off = int(np.abs(shares - 1 / len(row)).argmax())
        expect(
            abs(shares[off] - 1 / len(row)) < 0.05,
            f"run {off} of task {task} is {shares[off]:.0%} of what is drawn,"
            f" expected {1 / len(row):.0%}",
            "not all runs are alike: `rng.integers(n)` excludes n already",
        )


def by_itself(answer: Any) -> None:
    """Each task's runs are drawn by themselves."""
    scores, rng = _scores(), np.random.default_rng(7)
    got = np.array([_resample(answer, scores, rng) for _ in range(50)])
    place = got - scores[:, :1]  # the tasks' scores differ by what they begin with
    expect(
        bool((place != place[:, :1]).any()),
        "all tasks have drawn the same runs, 50 times",
        "one draw serves all tasks: draw `size=scores.shape`, not one row",
    )


def percentiles(answer: Any) -> None:
    """The interval holds the middle 95 % of the interquartile means of resamples."""
    scores, count = _scores() ** 1.3, 200
    rng = np.random.default_rng(8)
    drawn = [answer.resample(scores, rng) for _ in range(count)]
    found, means = [_right_iqm(of) for of in drawn], [of.mean() for of in drawn]
    hint = "mend `resample` first: nothing changes from one to the next"
    expect(max(found) > min(found), "all resamples have the same IQM", hint)
    middle = scores.mean()
    far = 1.96 * scores.std() / scores.size**0.5
    known = {
        "90": np.percentile(found, [5, 95]),
        "extremes": np.array([min(found), max(found)]),
        "scores": np.percentile(scores, [2.5, 97.5]),
        "of means": np.percentile(means, [2.5, 97.5]),
        "normal": np.array([middle - far, middle + far]),
    }
    got = answer.interval(scores.copy(), np.random.default_rng(8), count)
    expect(
        isinstance(got, tuple) and len(got) == 2,
        f"the interval is {got!r}, expected two numbers",
        "return both ends, the lower first",
    )
    expect_close(
        np.array(got, dtype=np.float64),
        np.percentile(found, [2.5, 97.5]),
        named="interval",
        mistakes={HINTS[name]: ends for name, ends in known.items()},
        hint="call `resample` as often as `resamples` says, and with the `rng` given",
    )


def coverage(answer: Any) -> None:
    """Of a hundred intervals from new runs, most hold the truth, and not all."""
    rng = np.random.default_rng(9)
    held = 0
    for _ in range(100):
        scores = rng.normal([[0.0], [1.0]], 1.0, size=(2, 10))
        low, high = answer.interval(scores, rng, 100)
        held += low <= 0.5 <= high
    expect(80 <= held < 100, f"{held} of 100 intervals hold the truth")


def _scores() -> np.ndarray:
    """Scores of three tasks, seven runs each; no two are equal."""
    return np.array([[0.0], [100.0], [200.0]]) + np.array([5.0, 1, 20, 3, 12, 0, 8])


def _resample(answer: Any, scores: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """What the answer draws, of the shape that it must have."""
    got = answer.resample(scores, rng)
    expect(got is not None, "resample is None", "does the function return its result?")
    shape, want = list(np.shape(got)), list(scores.shape)
    expect(
        shape == want,
        f"a resample has the shape {shape}, expected {want}",
        "every task keeps as many runs as it has",
    )
    return np.asarray(got, dtype=np.float64)
