"""Cases run as they say: so many processes, with a neighbour or without."""

import json

import pytest

from yieldrl.benchmarks.claims.time import scaling
from yieldrl.benchmarks.registry import CLAIMS


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(scaling, "SECONDS", 0.05)
    fast = {"num_minibatches": 1, "num_epochs": 1, "hidden_sizes": (8,)}
    monkeypatch.setattr(scaling, "FIELDS", scaling.FIELDS | fast)


def test_training_is_timed_by_whole_rollouts(traced):
    found = scaling.train(64, threads=1, seed=1)
    assert found is not None
    assert found["steps_per_second"] > 1_000
    assert found["megabytes"] > 100
    assert len(traced) == 3  # collecting, looking back and a gradient step


def test_a_neighbour_is_gone_in_the_end():
    with scaling.neighbour(busy=True) as nobody:
        assert nobody is None
    with pytest.raises(ZeroDivisionError), scaling.neighbour(busy=True):
        raise ZeroDivisionError


@pytest.mark.parametrize("way", ["2 threads", "2 processes"])
def test_a_case_is_started_as_it_says(way, monkeypatch):
    class Done:
        returncode, stdout = 0, 'noise\n{"steps_per_second": 7, "megabytes": 1}'

    def run(words, env, **_):
        started.append((words, env["OMP_NUM_THREADS"]))
        return Done

    started = []
    monkeypatch.setattr(scaling.subprocess, "run", run)
    found = scaling.run_case(64, way, 3)
    assert found["steps_per_second"] == 7
    assert (found["num_envs"], found["way"], found["seed"]) == (64, way, 3)
    (words, threads), *_ = started
    assert threads == ("2" if way == "2 threads" else "1")
    assert ("--nproc-per-node" in words) == (way == "2 processes")
    assert json.loads(words[-1]) == [64, int(threads), 3]


def test_what_fails_says_why(monkeypatch):
    class Failed:
        returncode, stderr = 1, "there is no such thing"

    monkeypatch.setattr(scaling.subprocess, "run", lambda *_, **__: Failed)
    with pytest.raises(
        RuntimeError, match=r"4, 1 thread[^\n]*\nthere is no such thing"
    ):
        scaling.run_case(4, "1 thread", 1)


def test_who_has_a_neighbour_is_compared_with_who_has_none():
    runs = [
        {"num_envs": n, "way": way, "steps_per_second": speed, "megabytes": 300}
        for n, way in map(dict.values, scaling.CASES)
        for speed in (100 if scaling.WAYS[way][2] else 120, 120)
    ]
    (verdict,) = CLAIMS["time"]["scaling"].judge(runs)
    assert verdict.value == pytest.approx(110 / 120)
    header, rows = CLAIMS["time"]["scaling"].table(runs)
    assert [len(row) for row in rows] == [len(header)] * len(scaling.WAYS)
    assert rows[0][1:] == ["120"] * 4 + ["300"]
    assert rows[3][1:] == ["", "", "110", "", "300"]
