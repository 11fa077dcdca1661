"""Steps per second of worlds: what is counted, and in which order."""

from __future__ import annotations

import inspect

import pytest

from yieldrl.benchmarks.env_throughput import measuring, sides
from yieldrl.benchmarks.env_throughput.sides import Batch


def test_the_memory_of_a_cart_is_that_of_its_tensors() -> None:
    batch = sides.tensors_of(2, 1, "yieldrl/CartPole-v1")
    state = obs = final_obs = 4 * 4
    elapsed, ended, reward, flags = 8, 1, 4, 2
    expected = state + elapsed + ended + obs + final_obs + reward + flags
    assert batch.bytes_per_env == expected == 63


def test_actions_are_taken_in_turn() -> None:
    taken: list[int] = []
    step = sides.in_turn(taken.append, [3, 1, 2])
    for _ in range(4):
        step()
    assert taken == [3, 1, 2, 3, 1]


def test_every_side_that_can_steps_its_world() -> None:
    world = measuring.WORLDS["cartpole"]
    for fields in world["sides"].values():
        if fields["build"] not in ("envpool", "gymnax") and not fields.get("compiled"):
            measuring.build(world, fields, 2, 1).step()
    for world in measuring.WORLDS.values():
        for fields in world["sides"].values():
            builder = getattr(sides, fields["build"])
            needed = {
                name
                for name, of in [*inspect.signature(builder).parameters.items()][2:]
                if of.default is inspect.Parameter.empty
            }
            assert needed <= {**world, **fields}.keys()


class Clock:
    """A side whose step takes as long as is asked, on a clock that we set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.order = 0.0, ""
        monkeypatch.setattr(measuring.time, "perf_counter", lambda: self.now)

    def batch(self, name: str, seconds: float, steps: int = 1) -> Batch:
        def step() -> None:
            self.now += seconds
            self.order += name

        return Batch(step=step, steps=steps)


def test_sides_take_turns_and_fill_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    batches = {"a": clock.batch("a", 0.5), "b": clock.batch("b", 0.25, steps=8)}
    found = measuring.compare(batches, {"a": 2, "b": 2}, runs=3, seconds=1.0)
    assert clock.order.endswith("aabbbb" * 3)
    a, b = found["a"], found["b"]
    assert (a["calls"], a["runs"], a["steps_per_second"]) == (2, [4.0] * 3, 4.0)
    assert (b["calls"], b["runs"], b["steps_per_second"]) == (4, [64.0] * 3, 64.0)
