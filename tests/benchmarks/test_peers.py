"""yieldrl beside other libraries: who is asked when, the arithmetic, the tables."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest
from peers_made_up import SMALL, answer, three_rounds, with_compiled

from yieldrl.benchmarks.peers import measuring
from yieldrl.benchmarks.peers.workloads import WORKLOADS


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Side and seed of every run; nothing is run."""
    calls: list[tuple[str, int]] = []

    def ask(side: str, task: dict[str, Any], python: Path) -> Any:
        assert task["compiled"] == (side == "compiled")
        calls.append((side, task["seed"]))
        return answer(1.0)

    monkeypatch.setattr(measuring, "ask", ask)
    monkeypatch.setattr(measuring, "python_of", lambda _, __: Path(sys.executable))
    monkeypatch.setitem(WORKLOADS, "small", SMALL)
    return calls


def test_sides_take_turns(
    asked: list[tuple[str, int]],
) -> None:
    result = measuring.benchmark("small", "mine", peers=["sb3"], runs=2)
    sides = ("yieldrl", "compiled", "sb3")
    assert asked == [(s, seed) for seed in (1, 2) for s in sides]
    assert [round_["seed"] for round_ in result["rounds"]] == [1, 2]
    assert result["versions_of"] == {side: {"torch": "2"} for side in sides}
    asked.clear()
    measuring.benchmark("small", "mine", quick=True)
    assert asked == [("yieldrl", 1), ("sb3", 1)]


def test_the_summary_takes_the_median_of_ratios_not_the_ratio_of_medians() -> None:
    of = measuring.summarize(SMALL, three_rounds())
    assert of["sb3"]["ratio"] == 2.0
    assert of["sb3"]["ratios"] == [1.0, 3.0]
    assert (of["yieldrl"]["steps_per_second"], of["sb3"]["seconds"]) == (200.0, 2.0)
    assert (of["yieldrl"]["return"], of["yieldrl"]["returns"]) == (110.0, [100, 120])
    assert "ratio" not in of["yieldrl"]


def test_demands_are_judged_and_so_is_what_was_learned() -> None:
    rounds = with_compiled(three_rounds(), 60.0)
    fast, first, learned = measuring.judge(SMALL, rounds)
    assert fast["demand"] == "times as fast as Stable-Baselines3"
    assert (fast["value"], fast["bound"], fast["holds"]) == (2.0, 2.0, True)
    assert (first["value"], first["bound"], first["holds"]) == (0.6, 1.5, False)
    assert (learned["value"], learned["bound"], learned["holds"]) == (110, 100, True)
    strict = dataclasses.replace(SMALL, learned=111.0)
    assert not measuring.judge(strict, rounds)[-1]["holds"]


def test_seconds_are_compared_the_other_way_round() -> None:
    found = {"yieldrl": answer(1.0, seconds=2.0), "sb3": answer(1.0, seconds=8.0)}
    assert measuring.ratio("process_seconds", found, "sb3") == 4.0


def test_pages_show_every_side_and_what_was_asked_for(
    asked: list[tuple[str, int]],
) -> None:
    result = measuring.benchmark("small", "mine", peers=["sb3"], runs=2)
    shown = measuring.entries("peers-small", result)
    (brief,) = shown["summary"]["rows"]
    assert brief[1:3] == ["Stable-Baselines3", "**1.00 (1.00 to 1.00)**"]
    _, own, first, other = shown["table"]["rows"]
    assert (own[0], first[0]) == ("yieldrl", "yieldrl, compiled")
    assert own[-1].startswith("times as fast as Stable-Baselines3: 1 of 2, **not")
    assert other[2:4] == ["1.00 (1.00 to 1.00)"] * 2
