"""Sides take turns, a run that fails costs one round, and what a side answers."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest
from peers_made_up import SMALL, answer

from yieldrl.benchmarks.peers import rounds


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
