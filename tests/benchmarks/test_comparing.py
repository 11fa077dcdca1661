"""An algorithm beside its parent: the rule of decision, and a small run of it."""

from __future__ import annotations

import numpy as np
import pytest

from yieldrl.algorithms import dqn
from yieldrl.benchmarks import style
from yieldrl.benchmarks.claims.comparing import munchausen
from yieldrl.benchmarks.scores import difference, iqm
from yieldrl.exercises.ch17_your_own_algorithm import solution


def runs_of(mine, theirs):
    return [
        {
            "seed": seed,
            "curves": {"dqn": [[1_000, b]], "munchausen": [[1_000, a]]},
            "scores": {"dqn": b, "munchausen": a},
        }
        for seed, (a, b) in enumerate(zip(mine, theirs, strict=True), 1)
    ]


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


@pytest.mark.parametrize(
    ("apart", "said"), [(30, "better"), (-30, "worse"), (1, "not decided")]
)
def test_what_may_be_said(apart, said):
    theirs = np.linspace(0, 20, munchausen.SEEDS)
    _, rows = munchausen.table(runs_of(theirs + apart, theirs))
    assert rows[-1][-1] == said
    assert rows[-1][1].startswith(f"{apart} (")


def test_nobody_stops_early():
    theirs = np.linspace(0, 20, munchausen.SEEDS)
    assert all(of.holds for of in munchausen.judge(runs_of(theirs, theirs)))
    early = runs_of(theirs[:5] + 30, theirs[:5])
    assert not any(of.holds for of in munchausen.judge(early))


def test_both_sides_have_the_same_settings_and_are_drawn(monkeypatch, tmp_path):
    few = {"total_steps": 120, "eval_every": 60, "eval_episodes": 1}
    few |= {"learning_starts": 100, "batch_size": 8, "hidden_sizes": (8,)}
    monkeypatch.setattr(munchausen, "SETTINGS", munchausen.SETTINGS | few)
    monkeypatch.setattr(munchausen, "EPISODES", 1)
    ours, mine = (munchausen.trainer_of(side, 1) for side in munchausen.SIDES)
    with ours, mine:
        assert type(ours) is dqn.Trainer
        assert type(mine) is solution.Trainer
        ours_has, mine_has = ours.config.to_dict(), mine.config.to_dict()
    own = {"temperature", "munchausen_coef", "munchausen_clip"}
    assert {k: v for k, v in mine_has.items() if k not in own} == ours_has
    runs = [munchausen.train(seed) for seed in (1, 2)]
    for run in runs:
        assert set(run["curves"]) == set(run["scores"]) == set(munchausen.SIDES)
        for points in run["curves"].values():
            assert [step for step, _ in points] == [60, 120]
    drawn = []
    style.save_figure(
        lambda axes: drawn.extend((munchausen.draw(axes, runs), axes.lines)),
        tmp_path / "a.svg",
    )
    assert [line.get_xdata().tolist() for line in drawn[1]] == [[60, 120]] * 2
