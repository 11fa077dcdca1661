"""Steps per second of worlds: who takes part, what is counted, and how it is judged."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest

from yieldrl.benchmarks.env_throughput import batches
from yieldrl.benchmarks.env_throughput import measuring as throughput
from yieldrl.benchmarks.env_throughput.batches import Batch, Setting
from yieldrl.benchmarks.env_throughput.contests import (
    Contest,
    Side,
    SpeedDemand,
)

TWO = Setting(num_envs=2, threads=1, device="cpu")


def test_the_memory_of_a_cart_is_that_of_its_tensors() -> None:
    batch = batches.tensors_of("yieldrl/CartPole-v1")(TWO)
    state = obs = final_obs = 4 * 4
    elapsed, ended, reward, flags = 8, 1, 4, 2
    expected = state + elapsed + ended + obs + final_obs + reward + flags
    assert batch.bytes_per_env == expected == 63


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
