"""Trials of hidden parameters: judged, drawn, and tried small."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from yieldrl.benchmarks import __main__ as command_line
from yieldrl.benchmarks import plot, results, scores, style
from yieldrl.benchmarks.claim import Options
from yieldrl.benchmarks.claims.adaptation import (
    compared,
    learning,
    regularizer,
    speed,
)
from yieldrl.benchmarks.claims.adaptation.worlds import RANGES, WORLDS
from yieldrl.benchmarks.registry import CLAIMS

GOOD = {
    "oracle": 480.0,
    "teacher": 480.0,
    "student, train": 300.0,
    "student, adapt": 450.0,
    "student, finetune": 470.0,
    "lstm": 400.0,
    "blind": 60.0,
    "chance": 20.0,
}


def known(first: float, late: float) -> dict[str, Any]:
    row = [first] * 16 + [late] * 84
    return {side: {"latent": row, "parameters": row} for side in RANGES}


def ended(late: float = 0.3, **returns: float) -> list[dict[str, Any]]:
    """Runs of a world, of two seeds; `returns` are those that are not good."""
    runs: list[dict[str, Any]] = []
    for side in (*learning.SIDES, "chance"):
        whose = [who for who in GOOD if who == side]
        if side == "roa":
            whose = [who for who in GOOD if who == "teacher" or "student" in who]
        found = {who: returns.get(who[:7], GOOD[who]) for who in whose}
        both = {who: dict.fromkeys(RANGES, value) for who, value in found.items()}
        run = {"side": side, "seconds": 9.0, "returns": both}
        run |= {"errors": known(1.0, late)} if side == "roa" else {}
        runs += [run, run]
    return runs


def ways(free: float, late: float) -> list[dict[str, Any]]:
    (run, *_) = ended()
    return [
        {**run, "side": side, "errors": known(1.0, free if "free" in side else late)}
        for side in regularizer.SIDES
        for _ in range(3)
    ]


def timed(mlp: float) -> list[dict[str, Any]]:
    of = {"ppo": [90.0, 100.0, 110.0], "gru": [60.0] * 3}
    of["mlp"] = [x / mlp for x in of["ppo"]]
    return [{"env_id": env_id, "seed": 1, **of} for env_id in speed.WORLDS]


RUNS = {
    **{name: ended() for name in WORLDS},
    "regularizer": ways(0.5, 0.3),
    "speed": timed(1.9),
}


@pytest.mark.parametrize("name", CLAIMS["adaptation"])
def test_a_claim_is_a_table_and_a_figure(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim, runs = CLAIMS["adaptation"][name], RUNS[name]
    assert all(verdict.holds for verdict in claim.judge(runs))
    assert results.table(*claim.table(runs)).count("\n") >= 5
    monkeypatch.setitem(style.STYLE, "svg.fonttype", "none")
    result = {"kind": "adaptation", "trial": name, "runs": runs}
    svg = plot.draw(plot.draw_claim, result, tmp_path / f"{name}.svg").read_text()
    assert len(re.findall(r"<text[^>]*>([^<]*)</text>", svg)) > 8
    results.dumps({"settings": claim.settings})


def test_the_command_knows_the_family() -> None:
    parsed = command_line.parse(["adaptation", "all", "--seeds", "2"])
    assert (parsed.names, parsed.seeds) == (list(CLAIMS["adaptation"]), 2)


@pytest.mark.parametrize(
    ("wrong", "broken"),
    [
        ({"teacher": 60.0, "student": 60.0}, [0, 3]),
        ({"oracle": 60.0}, [1]),
        ({"blind": 470.0}, [3]),
        ({"student": 456.0}, [2]),
        ({"late": 0.95}, [4]),
    ],
)
def test_what_is_demanded_of_a_world_can_fail(
    wrong: dict[str, float], broken: list[int]
) -> None:
    held = [verdict.holds for verdict in compared.judge(ended(**wrong))]
    assert [i for i, holds in enumerate(held) if not holds] == broken


def test_a_student_is_close_if_it_goes_nearly_as_far_from_chance() -> None:
    """Returns below zero have no percentages of their own."""
    assert compared.share(ended(), "training") == pytest.approx(450 / 460)
    costs = ended(chance=-1200.0, teacher=-200.0, student=-240.0)
    assert compared.share(costs, "training") == pytest.approx(0.96)


def test_a_bad_guess_at_first_is_no_progress_later() -> None:
    runs = [{"errors": known(3.0, 0.95)}]
    assert compared.left(runs) == pytest.approx(0.95)
    assert compared.left([{"errors": known(0.5, 0.25)}]) == pytest.approx(0.5)


def test_the_other_demands_can_fail() -> None:
    held = [verdict.holds for verdict in regularizer.judge(ways(0.3, 0.95))]
    assert held == [False, True, False, True]
    held = [
        verdict.holds for verdict in CLAIMS["adaptation"]["speed"].judge(timed(2.1))
    ]
    assert held == [False, True, False, True]
    assert speed.ratio(timed(2.1), next(iter(speed.WORLDS)), "mlp") == (
        pytest.approx(2.1)
    )


def test_an_interquartile_mean_leaves_out_a_quarter_at_each_end() -> None:
    assert scores.iqm(np.array([100.0, 1, 2, 3, 4])) == 3
    assert scores.iqm(np.arange(8.0)) == 3.5
    assert scores.iqm(np.array([1.0, 2, 6])) == 3
    rows = np.array([[1.0, 1, 1, 1, 1], [0, 0, 0, 0, 10]])
    low, high = scores.interval(rows)
    assert (low[0], high[0], low[1]) == (1, 1, 0)
    assert 0 < high[1] < 10
    assert [float(end) for end in scores.interval(np.array([3.0, 1]))] == [1, 3]
    assert scores.text([2.0, 2.0, 2.0]) == "2 (2 to 2)"


def test_a_curve_has_an_interval_at_each_step() -> None:
    drawn = scores.curve("some", [[3.0, 1], [4, 1], [5, 1]])
    assert (drawn.steps.tolist(), drawn.mean.tolist()) == ([1, 2], [4, 1])
    assert (drawn.low[1], drawn.high[1], drawn.label) == (1, 1, "some, 3 runs")


def test_every_side_has_every_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compared, "each", lambda _, cases, jobs: [*cases, jobs])
    monkeypatch.setattr(compared, "by_chance", lambda world: world.env_id)
    *cases, jobs, chance = CLAIMS["adaptation"]["halfcheetah"].measure(
        Options(seeds=2, jobs=3)
    )
    assert len(cases) == 2 * len(learning.SIDES) == len({str(of) for of in cases})
    assert {of["name"] for of in cases} == {"halfcheetah"}
    assert (jobs, chance["side"]) == (3, "chance")
    assert chance["returns"]["chance"] == "yieldrl/HiddenHalfCheetah-v1"
