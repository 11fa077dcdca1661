"""How long importing takes: whole processes, and what is demanded of them."""

from __future__ import annotations

from typing import Any

import pytest

from yieldrl.benchmarks import results
from yieldrl.benchmarks.claim import Options
from yieldrl.benchmarks.claims.imports import start as imports
from yieldrl.benchmarks.registry import CLAIMS


def runs(**seconds: float) -> list[dict[str, Any]]:
    """Three rounds, of which the second is slow."""
    return [
        {"round": number, **dict.fromkeys(imports.PROCESSES, 0.1), **seconds}
        if number != 2
        else {"round": 2, **dict.fromkeys(imports.PROCESSES, 9.0)}
        for number in (1, 2, 3)
    ]


def test_medians_are_judged() -> None:
    assert [of.holds for of in CLAIMS["imports"]["start"].judge(runs())] == [True, True]
    slow = CLAIMS["imports"]["start"].judge(runs(**{"yieldrl --help": 0.6}))
    assert [(of.value, of.bound, of.holds) for of in slow] == [
        (0.1, 1.5, True),
        (0.6, 0.5, False),
    ]


def test_every_process_has_a_row() -> None:
    table = results.table(*CLAIMS["imports"]["start"].table(runs()))
    assert "| import yieldrl " in table
    assert table.count("| 9.000 |") == len(imports.PROCESSES)


def test_the_first_round_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []

    def start(name: str) -> float:
        started.append(name)
        return float(len(started))

    monkeypatch.setattr(imports, "start", start)
    monkeypatch.setattr(imports, "ROUNDS", 2)
    found = imports.measure(Options(seeds=1))
    names = [*imports.PROCESSES]
    assert started == 3 * names
    assert [run["round"] for run in found] == [1, 2]
    assert found[0][names[0]] == len(names) + 1


def test_a_process_is_timed_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(imports.PROCESSES, "python", ["-S", "-c", "print(1)"])
    assert imports.start("python") > 0
    monkeypatch.setitem(
        imports.PROCESSES, "python", ["-S", "-c", "raise SystemExit(3)"]
    )
    with pytest.raises(imports.subprocess.CalledProcessError):
        imports.start("python")
