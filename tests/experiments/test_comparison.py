"""Algorithms compared over runs and tasks: numbers, refusals and pictures."""

import itertools

import numpy as np
import pytest
from run_folders import make_run

from yieldrl.algorithms import dqn, ppo
from yieldrl.cli import main
from yieldrl.experiments import comparison
from yieldrl.experiments.comparison import estimate, improvement, iqm, profile

rng = np.random.default_rng(7)
X, Y = (np.round(rng.normal(mean, 1, (n, 3)), 1) for mean, n in ((0, 5), (0.4, 4)))


def test_statistics_are_those_of_a_hand_and_of_rliable():
    assert iqm(np.array([[9.0], [1.0], [2.0], [4.0], [-50.0]])) == (1 + 2 + 4) / 3
    # Of four pairs of the first task one is won and two are ties, of the second all.
    x, y = np.array([[1.0, 5.0], [2.0, 6.0]]), np.array([[1.0, 0.0], [2.0, 0.0]])
    assert improvement(x, y) == ((1 + 0.5 + 0.5) / 4 + 1) / 2
    assert profile(x, np.array([0.0, 1.0, 5.0])).tolist() == [1.0, 0.75, 0.25]
    # Of rliable 1.2.0, with 20 000 resamples; an interval differs by those drawn.
    for statistic, scores, expected in [
        (iqm, (X,), (-0.15555556, -0.51111111, 0.14444444)),
        (iqm, (Y,), (-0.4, -1.1, 0.23333333)),
        (improvement, (X, Y), (0.55833333, 0.33333333, 0.78333333)),
        (lambda s: profile(s, np.array([-0.5])), (X,), ([0.6], [1 / 3], [13 / 15])),
    ]:
        found = estimate(statistic, *scores)
        np.testing.assert_allclose(found[0], expected[0], atol=1e-7)
        np.testing.assert_allclose(found[1:], expected[1:], atol=0.06)
        assert found == estimate(statistic, *scores)


def test_resamples_are_drawn_for_each_task_by_itself():
    """So runs that are alike within a task give an interval without a width."""
    scores = np.tile([[0.0, 5.0, 9.0, 100.0]], (6, 1))
    value, low, high = estimate(lambda s: s.mean((-2, -1)), scores)
    assert value == low == high == 28.5
    _, low, high = estimate(lambda s: s.sum(-1), np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert (low.min(), high.max()) == (0.0, 2.0)  # never drawn together


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Two algorithms, two tasks and seeds; each task has a rate of its own."""
    monkeypatch.chdir(tmp_path)
    rates, kinds = {"CartPole-v1": 0.1, "Acrobot-v1": 0.2}, {"ppo": ppo, "dqn": dqn}
    many = itertools.product(kinds, rates, (1, 2))
    for score, (name, task, seed) in zip(range(10, 90, 10), many, strict=True):
        fields = {"seed": seed, "learning_rate": rates[task], "total_steps": 100}
        points, folder = {50: 7, 100: score}, tmp_path / "runs" / f"{name}{task}{seed}"
        make_run(folder, points, kinds[name], env_id=task, **fields)
    return tmp_path / "runs"


def test_scores_are_last_evaluations_by_algorithm_and_task(runs):
    tasks, found = comparison.scores([runs])
    assert tasks == ["Acrobot-v1", "CartPole-v1"]
    assert {name: each.tolist() for name, each in found.items()} == {
        "dqn": [[70.0, 50.0], [80.0, 60.0]],
        "ppo": [[30.0, 10.0], [40.0, 20.0]],
    }
    ranges = comparison.parse_ranges(["Acrobot-v1=-30:70", "CartPole-v1=0:50"])
    shown = comparison.normalized(tasks, found, ranges)
    np.testing.assert_allclose(shown["ppo"], [[0.6, 0.2], [0.7, 0.4]])


def test_the_command_draws_each_kind(runs, capsys):
    units = ["--normalize", "CartPole-v1=0:100", "Acrobot-v1=0:100"]
    for kind, more in (("iqm", units), ("profile", units), ("improvement", [])):
        main(["plot", str(runs), "--kind", kind, *more])
        assert capsys.readouterr().out.split() == [f"{kind}.png", f"{kind}.svg"]
        assert (runs.parent / f"{kind}.png").read_bytes().startswith(b"\x89PNG")
    ranges = comparison.parse_ranges(units[1:])
    (axes,) = comparison.figure("improvement", [runs]).axes
    (row,) = (text.get_text() for text in axes.get_yticklabels())
    assert row == "dqn > ppo\n1 (1 to 1)"
    (axes,) = comparison.figure("profile", [runs], ranges).axes
    steps, shares = axes.lines[1].get_data()  # of PPO: 0.1, 0.2, 0.3, 0.4
    assert dict(zip(steps, shares, strict=True))[0.2] == 0.5
    (axes,) = comparison.figure("iqm", [runs], ranges).axes
    assert axes.get_title().startswith("2 runs of each algorithm on each of 2 tasks;")


MISSING = [
    ("none", "--kind iqm", "--normalize Acrobot-v1=LOW:HIGH CartPole-v1=LOW:HIGH"),
    ("none", "--kind iqm --normalize Pong=0:1", "Pong: no run is of this task: choose"),
    ("none", "--kind iqm --normalize CartPole-v1=5:5", "write TASK=LOW:HIGH"),
    ("none", "--normalize CartPole-v1=0:5", "is for --kind iqm and --kind profile"),
    ("dqn*", "--kind improvement", "all runs are of ppo: name some of another"),
    ("*2", "--kind profile", "dqn has these runs: 1 of Acrobot-v1, 1 of CartPole-v1."),
    ("dqnAcro*", "--kind iqm", "dqn has these runs: 2 of CartPole-v1, 0 of Acro"),
    ("dqnAcro*2", "--kind iqm", "dqn has these runs: 1 of Acrobot-v1, 2 of CartPole"),
    ("*", "--kind iqm", "no runs: name at least one folder of a run"),
]


def test_what_is_missing_is_said(runs, capsys):
    for absent, words, said in MISSING:
        folders = sorted({*runs.iterdir()} - {*runs.glob(absent)})
        with pytest.raises(SystemExit):
            main(["plot", *map(str, folders), *words.split()])
        assert said in capsys.readouterr().err


def test_runs_that_are_not_finished_are_refused(tmp_path):
    run = make_run(tmp_path / "early", {99: 5}, total_steps=100)
    with pytest.raises(ValueError, match=r"is 5, of step 99 of 100: there must be"):
        comparison.scores([run])
    (run / "config.yaml").unlink()
    with pytest.raises(ValueError, match=r"no config.yaml and run.json, which say"):
        comparison.scores([run])
