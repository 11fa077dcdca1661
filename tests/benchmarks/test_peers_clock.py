"""The clock of a side: what it times, and what counts to nobody's time."""

from __future__ import annotations

from typing import Any

import pytest

from yieldrl.benchmarks.peers.sides import clock as clocks
from yieldrl.benchmarks.peers.sides.clock import Clock
from yieldrl.benchmarks.peers.sides.contract import Task


class Watch:
    """Seconds that pass when somebody says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    made = Watch()
    monkeypatch.setattr(clocks.time, "perf_counter", made)
    return made


def task(**fields: Any) -> Task:
    given = {
        "workload": "W",
        "settings": {"num_envs": 2, "num_steps": 5, "num_minibatches": 2},
        "steps": 50,
        "warm_up": 20,
        "planned": 1_000,
        "seed": 1,
        "threads": 1,
        "episodes": 3,
    }
    return Task(**{**given, **fields})


def run(clock: Clock, watch: Watch, seconds: float = 1.0) -> None:
    """Ten steps a second, until the clock says that it is enough."""
    steps = 0
    while not clock.done:
        steps += 10
        watch.now += seconds
        clock(steps)


def test_what_lies_between_the_marks_is_timed(watch: Watch) -> None:
    clock = Clock(task(), lambda: 4.0)
    run(clock, watch)
    watch.now += 50  # a library may need time to end
    found = clock.finish(7, ())
    assert (found["steps"], found["timed_from"], found["updates"]) == (50, 20, 7)
    assert found["steps_per_second"] == pytest.approx(30 / 3)
    assert found["seconds"] == pytest.approx(5.0)
    assert found["return"] == 4.0


def test_evaluations_count_to_nobodys_time(watch: Watch) -> None:
    values = iter((1.0, 5.0, 9.0))

    def evaluate() -> float:
        watch.now += 1_000
        return next(values)

    clock = Clock(task(evaluate_every=20), evaluate)
    run(clock, watch)
    found = clock.finish(7, ())
    assert found["curve"] == [(20, 2.0, 1.0), (40, 4.0, 5.0), (50, 5.0, 9.0)]
    assert found["steps_per_second"] == pytest.approx(10)
    assert found["evaluation_seconds"] == 3_000
