"""yieldrl beside other libraries: the arithmetic, the verdicts, the tables."""

from __future__ import annotations

import dataclasses

from peers_made_up import SMALL, answer, three_rounds

from yieldrl.benchmarks.peers import summary


def test_the_summary_takes_the_median_of_ratios_not_the_ratio_of_medians() -> None:
    of = summary.summarize(SMALL, three_rounds())
    assert of["sb3"]["ratio"] == 2.0
    assert of["sb3"]["ratios"] == [1.0, 3.0]
    assert (of["yieldrl"]["steps_per_second"], of["sb3"]["seconds"]) == (200.0, 2.0)
    assert (of["yieldrl"]["return"], of["yieldrl"]["returns"]) == (110.0, [100, 120])
    assert "ratio" not in of["yieldrl"]


def test_demands_are_judged_and_so_is_what_was_learned() -> None:
    fast, learned = summary.judge(SMALL, three_rounds())
    assert fast["demand"] == "times as fast as Stable-Baselines3"
    assert (fast["value"], fast["bound"], fast["holds"]) == (2.0, 2.0, True)
    assert (learned["value"], learned["bound"], learned["holds"]) == (110, 100, True)
    strict = dataclasses.replace(SMALL, learned=111.0)
    assert not summary.judge(strict, three_rounds())[1]["holds"]
    stretches = summary.stretched(SMALL, three_rounds())
    assert [(of["value"], of["holds"]) for of in stretches] == [
        (2, False),
        (0.4, False),
    ]


def test_seconds_are_compared_the_other_way_round() -> None:
    found = {"yieldrl": answer(1.0, seconds=2.0), "sb3": answer(1.0, seconds=8.0)}
    assert summary.ratio("process_seconds", found, "sb3") == 4.0
    found["yieldrl"]["reached"] = {"steps": 30, "seconds": 1.0}
    assert summary.ratio("seconds_to_target", found, "sb3") == 8.0  # at the end at best
    found["sb3"]["reached"] = {"steps": 40, "seconds": 6.0}
    assert summary.ratio("seconds_to_target", found, "sb3") == 6.0
    found["yieldrl"]["reached"] = None
    assert summary.ratio("seconds_to_target", found, "sb3") == 0.0
