"""Curves over seeds, their intervals and their pictures."""

import sys

import numpy as np
import pytest
from run_folders import make_run

from yieldrl.algorithms import dqn, ppo
from yieldrl.experiments import plot


def test_runs_that_differ_in_their_seed_alone_are_one_line(tmp_path):
    make_run(tmp_path / "a", {100: 1.0, 200: 2.0}, seed=1, run_name="a")
    make_run(tmp_path / "b", {100: 3.0, 200: 6.0}, seed=2, run_name="b")
    make_run(tmp_path / "c", {100: 9.0, 200: 9.0}, seed=1, gamma=0.5)
    both, other = plot.curves([tmp_path])
    assert (both.label, both.num_runs) == ("ppo gamma=0.99", 2)
    assert both.steps.tolist() == [100, 200]
    assert both.mean.tolist() == [2.0, 4.0]
    assert both.low.tolist() == [1.0, 2.0]
    assert both.high.tolist() == [3.0, 6.0]
    assert (other.label, other.num_runs) == ("ppo gamma=0.5", 1)


def test_labels_have_what_differs_between_runs_of_an_algorithm(tmp_path):
    deep = {"hidden_sizes": (32, 32), "gamma": 0.9}
    for name, module, fields in (("a", ppo, {}), ("b", ppo, deep), ("c", dqn, {})):
        make_run(tmp_path / name, {1: 0.0, 2: 1.0}, module, num_envs=2, **fields)
    assert {curve.label for curve in plot.curves([tmp_path])} == {
        "ppo gamma=0.99 hidden_sizes=[64, 64]",
        "ppo gamma=0.9 hidden_sizes=[32, 32]",
        "dqn",
    }


def test_runs_without_the_metric_are_left_out(tmp_path):
    make_run(tmp_path / "a", {100: 1.0, 200: 2.0})
    other = make_run(tmp_path / "b", {})
    with pytest.warns(UserWarning, match="left out: .*no evaluate/episode_return: it"):
        (curve,) = plot.curves([tmp_path])
    assert (curve.label, curve.num_runs) == ("a", 1)
    with pytest.raises(ValueError, match="no evaluate/episode_return: it has nothing"):
        plot.curves([other])


def test_steps_that_differ_are_interpolated_where_all_runs_have_been():
    runs = [
        (np.array([0, 100, 200]), np.array([0.0, 10.0, 20.0])),
        (np.array([50, 150]), np.array([5.0, 15.0])),
    ]
    curve = plot.aggregate("two", runs)
    assert curve.steps.tolist() == [50, 100, 150]
    np.testing.assert_allclose(curve.mean, [5.0, 10.0, 15.0])
    apart = [(np.array([0, 1]), np.zeros(2)), (np.array([5, 6]), np.zeros(2))]
    with pytest.raises(ValueError, match="early: these runs have no step in common"):
        plot.aggregate("early", apart)


def test_the_interval_is_that_of_the_bootstrapped_mean():
    values = np.random.default_rng(0).normal(size=(100, 1))
    low, high = plot.interval(values)
    # For many runs the bootstrap agrees with the normal approximation.
    error = 1.96 * values.std() / 10
    np.testing.assert_allclose(high - low, 2 * error, rtol=0.1)
    np.testing.assert_allclose((high + low) / 2, values.mean(), atol=0.02)
    again = plot.interval(values)
    assert (low, high) == again


def test_png_and_svg_are_written(tmp_path, monkeypatch):
    run = make_run(tmp_path / "run", {1: 1.0, 2: 2.0})
    for out in ("curve.v2", "curve.v2.png", "curve.v2.svg"):
        drawing = plot.figure(plot.curves([run]), "return")
        files = plot.save(drawing, tmp_path / "figures" / out)
        assert [file.name for file in files] == ["curve.v2.png", "curve.v2.svg"]
        assert files[0].read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in files[1].read_bytes()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'yieldrl\[plot\]'"):
        plot.figure(plot.curves([run]), "return")
