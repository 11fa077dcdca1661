"""What holds of an interquartile mean and of its stratified bootstrap interval."""

from typing import Any
from unittest.mock import patch

import numpy as np

from yieldrl.exercises.cases import Chapter
from yieldrl.exercises.comparing import Results, expect, expect_close

# Scores of three tasks, seven runs each; no two are equal.
SCORES = np.array([[0.0], [100.0], [200.0]]) + np.array([5.0, 1, 20, 3, 12, 0, 8])


def own_runs(answer: Any) -> None:
    """A resample has as many runs of every task, and each is one of that task."""
    got = _resamples(answer, 50, seed=5)
    CHAPTER.leaves(answer, "resample", [SCORES, np.random.default_rng(5)])
    for task, row in enumerate(SCORES):
        foreign = np.setdiff1d(got[:, task], row)
        text = f"a resample of task {task} holds {foreign[:1]}, which is no run of it"
        hint = "runs of one task are drawn for another: draw within each row"
        hint = hint if np.isin(foreign, SCORES).any() else ""
        expect(foreign.size == 0, text, hint)


def replaced(answer: Any) -> None:
    """Runs are drawn with replacement, all of them alike, and anew each time."""
    got = _resamples(answer, 400, seed=6)
    hint = "draw anew each time, from the `rng` that is given"
    expect(bool((got != got[0]).any()), "400 resamples are all the same", hint)
    ordered = np.sort(got, axis=2)
    twice = (ordered[:, :, 1:] == ordered[:, :, :-1]).any(2)
    hint = "draw with replacement: a run may come several times"
    expect(bool(twice.any()), "no run is ever drawn twice", hint)
    for task, row in enumerate(SCORES):
        shares = (got[:, task, :, None] == row).mean((0, 1))
        named = f"share of the runs of task {task} in what is drawn"
        expect_close(shares, np.full(7, 1 / 7), named=named, tolerance=0.045)


def by_itself(answer: Any) -> None:
    """Each task's runs are drawn by themselves."""
    got = _resamples(answer, 50, seed=7)
    place = got - SCORES[:, :1]  # the tasks' scores differ by what they begin with
    differ = bool((place != place[:, :1]).any())
    hint = "one draw serves all tasks: draw `size=scores.shape`, not one row"
    expect(differ, "all tasks have drawn the same runs, 50 times", hint)


def percentiles(answer: Any) -> None:
    """The interval holds the middle 95 % of the interquartile means of resamples."""
    scores, count, rng = SCORES**1.3, 200, np.random.default_rng(8)
    iqm = CHAPTER.solution.right.iqm
    found = [iqm(answer.resample(scores, rng)) for _ in range(count)]
    hint = "mend `resample` first: nothing changes from one to the next"
    expect(max(found) > min(found), "all resamples have the same IQM", hint)

    def solve(module: Any) -> Results:
        with patch.object(module, "resample", answer.resample):
            got = module.interval(scores.copy(), np.random.default_rng(8), count)
        two = f"the interval is {got!r}, expected two numbers"
        expect(np.shape(got) == (2,), two, "return both ends, the lower first")
        return [{"interval": np.array(got, dtype=np.float64)}]

    # Definitions of a percentile differ in where between two neighbours it lies.
    ends = [2.5, 97.5]
    low, high = (np.percentile(found, ends, method=of) for of in ("lower", "higher"))
    between = solve(answer)[0]["interval"]
    if not np.allclose(between, np.clip(between, low, high)):
        CHAPTER.compare(answer, solve)


def _resamples(answer: Any, count: int, seed: int) -> np.ndarray:
    rng, drawn = np.random.default_rng(seed), []
    for _ in range(count):
        got = answer.resample(SCORES.copy(), rng)
        hint = "does the function return its result?"
        expect(got is not None, "resample is None", hint)
        found = f"a resample has the shape {np.shape(got)}, expected {SCORES.shape}"
        same = np.shape(got) == SCORES.shape
        expect(same, found, "every task keeps as many runs as it has")
        drawn.append(np.asarray(got, dtype=np.float64))
    return np.array(drawn)


def _iqm(answer: Any, scores: list[list[float]]) -> Any:
    CHAPTER.leaves(answer, "iqm", [np.array(scores)])
    return answer.iqm(np.array(scores))


CHAPTER = Chapter(__name__)
CHAPTER.same(
    _iqm,
    "The interquartile mean is the mean of the middle half of the scores",
    ([[9.0, 1.0, 30.0, 4.0, 0.0, 16.0, 2.0, 5.0]],),
    "Of ten scores two are left out at each end: a quarter is rounded down",
    ([[7.0, 0.0, 1.0, 3.0, 12.0, 5.0, 20.0, 2.0, 40.0, 9.0]],),
    "The scores of all tasks are pooled before the quarters are left out",
    ([[0.0, 1.0, 3.0, 2.0], [60.0, 40.0, 90.0, 50.0], [5, 4, 9, 8]],),
)
CHAPTER.holds(own_runs, replaced, by_itself, percentiles)
