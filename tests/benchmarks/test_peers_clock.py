"""The clock of a side: what it times, and what counts to nobody's time."""

from __future__ import annotations

from typing import Any

import pytest

from yieldrl.benchmarks.peers.sides import clock as clocks
from yieldrl.benchmarks.peers.sides import contract
from yieldrl.benchmarks.peers.sides.clock import Clock
from yieldrl.benchmarks.peers.sides.contract import Task


class Watch:
    """Seconds that pass when somebody says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> tuple[float, float]:
        return self.now, 2 * self.now


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    made = Watch()
    monkeypatch.setattr(clocks, "_now", made)
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
    assert found["steps_per_cpu_second"] == pytest.approx(30 / 6)
    assert found["seconds"] == pytest.approx(5.0)
    assert (found["return"], found["reached"]) == (4.0, None)


def test_training_ends_after_its_seconds(watch: Watch) -> None:
    def evaluate() -> float:
        watch.now += 1_000
        return 1.0

    timed = task(steps=1_000, seconds=7.5, evaluate_every=50)
    clock = Clock(timed, evaluate)
    run(clock, watch)
    found = clock.finish(7, ())
    assert (found["steps"], found["timed_from"]) == (80, 20)
    assert found["steps_per_second"] == pytest.approx(60 / 6)
    assert found["seconds"] == pytest.approx(8.0)


def test_evaluations_count_to_nobodys_time(watch: Watch) -> None:
    values = iter((1.0, 5.0, 9.0))

    def evaluate() -> float:
        watch.now += 1_000
        return next(values)

    clock = Clock(task(evaluate_every=20, target=5.0), evaluate)
    run(clock, watch)
    found = clock.finish(7, ())
    assert found["curve"] == [(20, 2.0, 1.0), (40, 4.0, 5.0), (50, 5.0, 9.0)]
    assert found["reached"] == {"steps": 40, "seconds": 4.0}
    assert found["steps_per_second"] == pytest.approx(10)
    assert found["evaluation_seconds"] == 3_000


def test_a_run_may_end_at_the_target(watch: Watch) -> None:
    asked = task(warm_up=10, evaluate_every=20, target=5.0, stop_at_target=True)
    clock = Clock(asked, lambda: 6.0)
    run(clock, watch)
    found = clock.finish(7, ())
    assert (found["steps"], found["return"]) == (20, 6.0)
    assert found["reached"] == {"steps": 20, "seconds": 2.0}


def test_the_timing_waits_until_what_is_slow_at_first_is_over(watch: Watch) -> None:
    clock = Clock(task(), lambda: 4.0, is_ready=lambda: watch.now >= 104)
    run(clock, watch)
    assert clock.finish(0, ())["timed_from"] == 40


def test_settling_ends_with_that(watch: Watch) -> None:
    asked = task(only_settle=True)
    clock = Clock(asked, lambda: 4.0, is_ready=lambda: watch.now >= 104)
    run(clock, watch)
    found = clock.finish(0, ())
    assert (found["steps"], found["curve"]) == (40, [])
    assert "return" not in found


def test_what_never_settles_ends_with_the_run(watch: Watch) -> None:
    clock = Clock(task(only_settle=True), lambda: 4.0, is_ready=lambda: False)
    run(clock, watch)
    assert clock.finish(0, ())["steps"] == 50


@pytest.mark.parametrize("warm_up", [50, 60])
def test_too_few_steps_are_refused(watch: Watch, warm_up: int) -> None:
    clock = Clock(task(warm_up=warm_up), lambda: 4.0)
    run(clock, watch)
    with pytest.raises(SystemExit, match="nothing was timed in 50 steps"):
        clock.finish(0, ())


def test_a_librarys_loop_is_left_by_an_exception(watch: Watch) -> None:
    clock = Clock(task(), lambda: 4.0)
    clock.or_end(40)
    with pytest.raises(clocks.TrainingEnds):
        clock.or_end(50)


def test_sizes_follow_from_the_settings() -> None:
    assert (task().batch_size, task().minibatch_size) == (10, 5)


class Counting:
    """An environment whose episodes last as long as it is told, with rewards of 1."""

    def __init__(self) -> None:
        self.seeds: list[int | None] = []
        self.closed = False

    def reset(self, seed: int | None) -> tuple[int, dict[str, Any]]:
        self.seeds.append(seed)
        self.left = 2 + len(self.seeds)
        return self.left, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        assert action == self.left
        self.left -= 1
        return self.left, 1.0, self.left == 0, False, {}

    def close(self) -> None:
        self.closed = True


def test_returns_are_those_of_whole_episodes() -> None:
    env = Counting()
    assert contract.mean_return(lambda obs: obs, lambda: env, 3, seed=8) == 4.0
    assert (env.seeds, env.closed) == ([8, None, None], True)
