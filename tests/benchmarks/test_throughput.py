"""Steps per second of worlds: who takes part, what is counted, and how it is judged."""

from __future__ import annotations

import dataclasses
import json
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

from yieldrl.benchmarks import report, results, subprocesses
from yieldrl.benchmarks.env_throughput import batches, contests
from yieldrl.benchmarks.env_throughput import measuring as throughput
from yieldrl.benchmarks.env_throughput.batches import Batch, Setting
from yieldrl.benchmarks.env_throughput.contests import (
    CONTESTS,
    Contest,
    Side,
    SpeedDemand,
)

TWO = Setting(num_envs=2, threads=1, device="cpu")
IDS = [(name, side) for name, contest in CONTESTS.items() for side in contest.sides]


@pytest.mark.parametrize("name", CONTESTS)
def test_every_contest_is_of_a_world_of_ours_and_judges_its_sides(name: str) -> None:
    contest = CONTESTS[name]
    assert gymnasium.spec(contest.env_id).vector_entry_point is not None
    for demand in contest.demands:
        assert {demand.side, *demand.over} <= contest.sides.keys()
        assert demand.num_envs in throughput.SIZES


def slow(name: str, side: str) -> Any:
    """A case that is slow if it compiles something first."""
    compiles = "gymnax" in side or "warp" in side
    marks = [pytest.mark.slow] if compiles or CONTESTS[name].cuda else []
    return pytest.param(name, side, marks=marks, id=f"{name}: {side}")


@pytest.mark.filterwarnings("ignore")  # of other packages
@pytest.mark.parametrize(("name", "side"), [slow(*of) for of in IDS])
def test_every_side_steps(
    name: str, side: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that compile our world are stepped without: its own tests compile it."""
    make_vec, compiled = gymnasium.make_vec, []

    def eager(env_id: Any, **kwargs: Any) -> Any:
        compiled.append(kwargs.pop("compile", False))
        return make_vec(env_id, **kwargs)

    monkeypatch.setattr(gymnasium, "make_vec", eager)
    contest = CONTESTS[name]
    taking_part = contest.sides[side]
    if not taking_part.installed:
        pytest.skip(f"{taking_part.package} is not installed")
    if contest.cuda and not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    count = min(2, taking_part.most or 2, taking_part.fixed or 2)
    device = "cuda" if contest.cuda else "cpu"
    batch = taking_part.build(Setting(num_envs=count, threads=1, device=device))
    assert throughput.timed(batch, 3) > 0
    assert batch.steps >= 1
    assert any(compiled) == (side == contests.COMPILED)


def test_the_memory_of_a_cart_is_that_of_its_tensors() -> None:
    batch = batches.tensors_of("yieldrl/CartPole-v1")(TWO)
    state = obs = final_obs = 4 * 4
    elapsed, ended, reward, flags = 8, 1, 4, 2
    expected = state + elapsed + ended + obs + final_obs + reward + flags
    assert batch.bytes_per_env == expected == 63


def test_actions_are_random_and_the_same_each_time() -> None:
    drawn = batches.actions("yieldrl/Pendulum-v1", num_envs=500)
    assert drawn.shape == (batches.POOL, 500, 1)
    assert drawn.dtype == np.float32
    assert np.abs(drawn).max() <= 2
    assert np.abs(drawn).max() > 1.99
    again = batches.actions("yieldrl/Pendulum-v1", num_envs=500)
    assert (drawn == again).all()
    pushes = batches.actions("yieldrl/CartPole-v1", num_envs=500)
    assert pushes.shape == (batches.POOL, 500)
    assert set(pushes.flat) == {0, 1}


def test_actions_are_taken_in_turn() -> None:
    taken: list[int] = []
    step, _ = batches.in_turn(taken.append, [3, 1, 2])
    for _ in range(4):
        step()
    assert taken == [3, 1, 2, 3, 1]


class Clock:
    """A side whose step takes as long as is asked, on a clock that we set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.order = 0.0, ""
        monkeypatch.setattr(throughput.time, "perf_counter", lambda: self.now)

    def side(self, name: str, seconds: float, *, steps: int = 1, **kwargs: Any) -> Side:
        def step() -> None:
            self.now += seconds
            self.order += name

        return Side(build=lambda _: Batch(step=step, steps=steps), **kwargs)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    idle = SimpleNamespace(collect=lambda: None, freeze=lambda: None)
    monkeypatch.setattr(throughput, "gc", idle)
    return Clock(monkeypatch)


def test_sides_take_turns_and_fill_the_time(clock: Clock) -> None:
    sides = {"a": clock.side("a", 0.5), "b": clock.side("b", 0.25, steps=8)}
    contest = Contest(env_id="yieldrl/CartPole-v1", sides=sides)
    point = throughput.compare(contest, TWO, runs=3, seconds=1.0)
    assert clock.order.endswith("aabbbb" * 3)
    assert point["num_envs"] == 2
    a, b = point["sides"]["a"], point["sides"]["b"]
    assert (a["calls"], a["runs"], a["steps_per_second"]) == (2, [4.0] * 3, 4.0)
    assert (b["calls"], b["runs"], b["steps_per_second"]) == (4, [64.0] * 3, 64.0)


def test_sides_stop_where_they_are_too_slow_or_not_installed(clock: Clock) -> None:
    sides = {
        "a": clock.side("a", 0.5, most=1),
        "b": clock.side("b", 0.5, package="no_such_package"),
        "c": clock.side("c", 0.5, most=2),
    }
    contest = Contest(env_id="yieldrl/CartPole-v1", sides=sides)
    point = throughput.compare(contest, TWO, runs=1, seconds=1.0)
    assert list(point["sides"]) == ["c"]


def test_a_side_may_step_a_number_of_its_own(clock: Clock) -> None:
    one = clock.side("a", 0.5, fixed=1)
    numbers: list[int] = []

    def build(on: Setting) -> Batch:
        numbers.append(on.num_envs)
        return one.build(on)

    sides = {"a": dataclasses.replace(one, build=build), "b": clock.side("b", 0.5)}
    contest = Contest(env_id="yieldrl/CartPole-v1", sides=sides)
    point = throughput.compare(contest, TWO, runs=1, seconds=1.0)
    assert numbers == [1]
    speeds = {name: of["steps_per_second"] for name, of in point["sides"].items()}
    assert speeds == {"a": 2.0, "b": 4.0}


def point(num_envs: int, **runs: list[float]) -> dict[str, Any]:
    sides = {
        side: {
            "steps_per_second": sorted(speeds)[len(speeds) // 2],
            "runs": speeds,
            "calls": 1,
            "bytes_per_env": 79.0 if side == "tested" else None,
        }
        for side, speeds in runs.items()
    }
    return {"num_envs": num_envs, "sides": sides}


POINTS = [
    point(1, tested=[1.0, 1.0, 1.0], rival=[8.0, 8.0, 8.0]),
    point(1024, tested=[20.0, 30.0, 90.0], rival=[10.0, 10.0, 10.0]),
]


def test_a_demand_is_judged_by_the_median_of_the_ratios() -> None:
    demand = SpeedDemand(side="tested", over=("rival",), times=3)
    assert demand.judge(POINTS, threads=1) == {
        "demand": "tested at N = 1024, 1 thread, is at least 3 times as fast as rival",
        "ratio": 3.0,
        "holds": True,
    }
    assert not dataclasses.replace(demand, times=3.1).judge(POINTS, 1)["holds"]


def test_a_demand_counts_against_the_fastest_of_the_others() -> None:
    demand = SpeedDemand(side="tested", over=("rival", "slower", "nobody"), times=2)
    both = point(1024, tested=[30.0], rival=[15.0], slower=[10.0])
    assert demand.judge([POINTS[0], both], 1)["ratio"] == 2.0


@pytest.mark.parametrize("demand", [{"threads": 2}, {"num_envs": 4}, {"side": "x"}])
def test_what_was_not_measured_is_not_judged(demand: dict[str, Any]) -> None:
    asked = {"side": "tested", "over": ("rival",), "times": 3} | demand
    judged = SpeedDemand(**asked).judge(POINTS, threads=1)
    assert judged["ratio"] is None
    assert judged["holds"] is None
    assert throughput.verdict(judged) == "not measured here"


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A benchmark of a contest of our own, in which nothing is timed."""
    never = Side(build=lambda _: Batch(step=lambda: None))
    sides = {"tested": never, "rival": never}
    sides["absent"] = Side(build=never.build, package="no_such_package")
    demands = tuple(
        SpeedDemand(side="tested", over=("rival",), times=times) for times in (3, 5)
    )
    contest = Contest(env_id="yieldrl/CartPole-v1", sides=sides, demands=demands)
    monkeypatch.setitem(CONTESTS, "cartpole", contest)

    def call(function: Any, threads: int, **arguments: Any) -> dict[str, Any]:
        assert function is throughput.measure
        assert arguments["setting"]["threads"] == threads
        (found,) = (
            p for p in POINTS if p["num_envs"] == arguments["setting"]["num_envs"]
        )
        return found

    monkeypatch.setattr(subprocesses, "call", call)
    return throughput.benchmark("cartpole", "python -m benchmarks", num_envs=[1024, 1])


def test_a_result_says_everything(measured: dict[str, Any]) -> None:
    results.check(measured)
    assert measured["points"] == POINTS
    assert measured["sides"] == ["tested", "rival"]
    assert measured["left_out"] == {"absent": "no_such_package is not installed"}
    assert [of["holds"] for of in measured["demands"]] == [True, False]


def test_the_report_says_everything(measured: dict[str, Any]) -> None:
    text = report.report(measured)
    for part in (
        "| 1024 | 3e-05  | 1e-05 |",
        "bytes per environment, tested: 79",
        "left out, absent: no_such_package is not installed",
        "3 times, holds: tested at N = 1024",
        "3 times, does not hold: tested at N = 1024",
        "million steps per second, 1 thread",
        measured["hardware"]["cpu"],
    ):
        assert part in text


def test_worlds_for_gpus_say_that_they_need_one() -> None:
    with pytest.raises(ValueError, match="humanoid needs a GPU"):
        throughput.benchmark("humanoid", "python -m benchmarks")
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="finds no such GPU"):
            throughput.benchmark("humanoid", "python -m benchmarks", device="cuda")


def test_a_measurement_takes_the_cores_and_threads_that_it_may(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of its process, which is why `benchmark` gives it one of its own."""
    taken: dict[str, Any] = {}
    monkeypatch.setattr(torch, "set_num_threads", lambda n: taken.update(threads=n))
    os = SimpleNamespace(
        sched_getaffinity=lambda _: {5, 3, 4},
        sched_setaffinity=lambda _, cores: taken.update(cores=cores),
    )
    monkeypatch.setattr(throughput, "os", os)
    contest = Contest(env_id="yieldrl/CartPole-v1", sides={"a": clock.side("a", 0.5)})
    monkeypatch.setitem(CONTESTS, "cartpole", contest)
    setting = {"num_envs": 1, "threads": 2, "device": "cpu"}
    measured = throughput.measure("cartpole", setting, runs=1, seconds=1.0)
    assert taken == {"threads": 2, "cores": [3, 4]}
    assert json.loads(json.dumps(measured)) == measured  # as it leaves the process
    assert measured["sides"]["a"]["steps_per_second"] == 2.0
