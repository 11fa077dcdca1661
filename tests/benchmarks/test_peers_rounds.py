"""Sides take turns, a run that fails costs one round, and what a side answers."""

from __future__ import annotations

import dataclasses
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from peers_made_up import SMALL, answer

from yieldrl.benchmarks import results
from yieldrl.benchmarks.peers import rounds, summary
from yieldrl.foundations import compile_cache

SIDES = Path(rounds.__file__).parent / "sides"


@pytest.fixture
def plan(tmp_path: Path) -> rounds.Plan:
    pythons = {name: Path(sys.executable) for name in ("yieldrl", "sb3", "sbx")}
    return rounds.Plan(
        name="small",
        workload=SMALL,
        steps=50,
        runs=2,
        pythons=pythons,
        folder=tmp_path,
        revision="abc",
    )


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Side and seed of every run; nothing is run."""
    calls: list[tuple[str, int]] = []

    def ask(_: rounds.Plan, side: str, task: dict[str, Any]) -> dict[str, Any]:
        calls.append((side, 0 if task["only_settle"] else task["seed"]))
        return answer(1.0)

    monkeypatch.setattr(rounds, "ask", ask)
    return calls


def test_sides_take_turns_after_yieldrl_has_compiled(
    plan: rounds.Plan, asked: list[tuple[str, int]]
) -> None:
    found = rounds.run_all(plan)
    sides = ("yieldrl", "sb3", "sbx")
    assert asked == [("yieldrl", 0), *((s, seed) for seed in (1, 2) for s in sides)]
    assert [round_["seed"] for round_ in found] == [1, 2]
    assert all(set(sides) < set(round_) for round_ in found)
    asked.clear()
    cold = dataclasses.replace(plan, workload=dataclasses.replace(SMALL, cold=True))
    rounds.run_all(cold)
    assert asked[0] == ("yieldrl", 1)


def test_a_slow_peer_runs_a_part(plan: rounds.Plan) -> None:
    workload = dataclasses.replace(SMALL, part={"sbx": 30})
    parted = dataclasses.replace(plan, workload=workload)
    steps = [parted.task(1, side)["steps"] for side in parted.pythons]
    assert steps == [50, 50, 30]
    few = dataclasses.replace(parted, steps=20)
    assert few.task(1, "sbx")["steps"] == 20
    settles = plan.task(1, only_settle=True)
    assert (settles["steps"], settles["limited"]) == (1_000_000, False)
    longer = dataclasses.replace(plan, steps=2_000_000)
    assert longer.task(1)["planned"] == 2_000_000


def test_a_first_run_has_a_minute(plan: rounds.Plan) -> None:
    first = plan.task(1, "first_run")
    assert (first["steps"], first["seconds"]) == (1_000_000, 60.0)
    assert plan.task(1)["seconds"] is None
    assert plan.task(1, only_settle=True)["seconds"] is None


def test_a_run_that_failed_costs_one_round(
    plan: rounds.Plan, asked: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    works = rounds.ask

    def fails(plan: rounds.Plan, side: str, task: dict[str, Any]) -> dict[str, Any]:
        if (side, task["seed"]) == ("sb3", 2):
            raise rounds.SideError("it crashed")
        return works(plan, side, task)

    monkeypatch.setattr(rounds, "ask", fails)
    with pytest.raises(rounds.SideError, match="it crashed"):
        rounds.run_all(plan)
    monkeypatch.setattr(rounds, "ask", works)
    asked.clear()
    other = dataclasses.replace(plan, steps=60)
    assert rounds.Journal(other).read() == [], "of another plan"
    found = rounds.run_all(plan)
    assert [round_["seed"] for round_ in found] == [1, 2]
    assert asked == [("yieldrl", 2), ("sb3", 2), ("sbx", 2)]
    assert not list(plan.folder.iterdir()), "there is nothing to go on from any more"


FAKE = """
from .clock import Clock
from .contract import main

def train(task):
    clock = Clock(task, lambda: 7.5)
    steps = 0
    while not clock.done:
        steps += task.settings["num_envs"]
        clock(steps)
    return clock.finish(steps // 10, ("pip",))

if __name__ == "__main__":
    print("what a library says")
    main({"small": train})
"""


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of sides, to write some into."""
    folder = tmp_path / "fakes" / "sides"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    for name in ("contract.py", "clock.py"):
        shutil.copy(SIDES / name, folder)
    monkeypatch.setattr(rounds, "HERE", folder.parent)
    return folder


def test_a_side_answers_with_a_line_of_json(fakes: Path, plan: rounds.Plan) -> None:
    (fakes / "sb3.py").write_text(FAKE)
    found = rounds.ask(plan, "sb3", plan.task(seed=3))
    assert (found["steps"], found["timed_from"], found["updates"]) == (50, 10, 5)
    assert found["return"] == 7.5
    assert found["curve"][-1][0] == 50
    assert found["versions"]["python"] == results.versions()["python"]
    assert set(summary.TIMES) < set(found)
    assert 0 < found["seconds"] < found["process_seconds"]


def test_a_side_that_fails_says_why(fakes: Path, plan: rounds.Plan) -> None:
    (fakes / "sbx.py").write_text("raise ImportError('no such library')")
    said = "sbx failed with seed 3.*same command goes on.*no such library"
    with pytest.raises(rounds.SideError, match=f"(?s){said}"):
        rounds.ask(plan, "sbx", plan.task(seed=3))


def test_a_peer_finds_nothing_of_ours(
    plan: rounds.Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "somewhere")
    own = rounds.environment(plan, "yieldrl", Path("empty"))
    peer = rounds.environment(plan, "sb3", Path("empty"))
    assert peer["PYTHONPATH"] == str(rounds.HERE)
    assert own["PYTHONPATH"].endswith("somewhere")
    assert own[rounds.CACHE] == str(plan.folder / "compiled")
    assert peer["OMP_NUM_THREADS"] == "1"
    first = rounds.environment(plan, "first_run", Path("/empty"))
    assert first[rounds.CACHE] == "/empty/compiled"
    assert first["PYTHONPATH"] == own["PYTHONPATH"]
    assert rounds.CACHE == compile_cache.VARIABLE
