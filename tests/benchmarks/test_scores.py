"""What few runs say: a difference and its interval."""

from __future__ import annotations

import numpy as np
import pytest

from yieldrl.benchmarks.scores import difference, iqm


def test_a_difference_is_that_of_the_means_and_lies_in_its_interval():
    rng = np.random.default_rng(1)
    mine, theirs = rng.normal(1, 1, (3, 12)), rng.normal(0, 1, (3, 9))
    apart, low, high = difference(mine, theirs)
    assert apart == pytest.approx(iqm(mine) - iqm(theirs))
    assert (low < apart).all()
    assert (apart < high).all()
    assert np.array_equal(difference(mine, theirs), (apart, low, high))


def test_a_shift_of_one_side_shifts_the_difference_and_exchanging_them_turns_it():
    rng = np.random.default_rng(2)
    mine, theirs = rng.normal(size=(2, 20))
    known = np.array(difference(mine, theirs))
    assert np.allclose(difference(mine + 5, theirs), known + 5)
    apart, low, high = difference(theirs, mine)
    assert apart == pytest.approx(-known[0])
    assert (-high, -low) == pytest.approx(tuple(known[1:]), abs=0.1)


def test_of_new_runs_of_one_method_few_intervals_leave_out_zero():
    rng = np.random.default_rng(3)
    _, low, high = difference(*rng.normal(size=(2, 100, 20)))
    assert 0 < ((low > 0) | (high < 0)).mean() < 0.12
