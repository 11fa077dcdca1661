"""Rounds summed up: medians of every side, ratios within rounds, verdicts."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence
from typing import Any

from yieldrl.benchmarks.trials.trial import at_least

from .rounds import Round
from .venvs import PEERS
from .workload import OURS, Measure, Workload

TIMES = (
    "steps",
    "steps_per_second",
    "steps_per_cpu_second",
    "seconds",
    "process_seconds",
)


def ratio(measure: Measure, round_: Round, peer: str) -> float:
    """How many times faster than a peer yieldrl was in a round.

    Who did not reach the target in a whole run is taken as having reached it at the
    end, where that is a peer, and as never, where it is yieldrl.
    """
    own, other = round_[OURS], round_[peer]
    if measure == "steps_per_second":
        return own[measure] / other[measure]
    if measure == "process_seconds":
        return other[measure] / own[measure]
    if own["reached"] is None:
        return 0.0
    reached = other["reached"] or other
    return reached["seconds"] / own["reached"]["seconds"]


def best(answer: dict[str, Any]) -> float:
    """The highest mean return of an evaluation: of the last one, if there is one."""
    return max(value for _, _, value in answer["curve"])


def summarize(workload: Workload, rounds: Sequence[Round]) -> dict[str, Any]:
    """Side -> medians, returns, and for peers the ratio: median, least and greatest."""
    sides = [name for name in rounds[0] if name in (OURS, *PEERS)]
    summary: dict[str, Any] = {}
    for side in sides:
        answers = [round_[side] for round_ in rounds]
        of = {name: statistics.median(a[name] for a in answers) for name in TIMES}
        returns = [answer["return"] for answer in answers]
        of["return"] = statistics.median(returns)
        of["returns"] = [min(returns), max(returns)]
        of["reached"] = reached(answers)
        if side != OURS:
            found = [ratio(workload.measure, round_, side) for round_ in rounds]
            of["ratio"] = statistics.median(found)
            of["ratios"] = [min(found), max(found)]
        summary[side] = of
    return summary


def reached(answers: Sequence[dict[str, Any]]) -> dict[str, float]:
    """How many of the runs reached the target; medians of when, over those."""
    found = [answer["reached"] for answer in answers if answer["reached"]]
    medians = {
        name: statistics.median(of[name] for of in found)
        for name in ("steps", "seconds")
        if found
    }
    return {"runs": len(found), **medians}


def judge(workload: Workload, rounds: Sequence[Round]) -> list[dict[str, Any]]:
    """What is demanded of yieldrl, and whether it is so."""
    value = statistics.median(best(round_[OURS]) for round_ in rounds)
    verdicts = [
        at_least(f"times as fast as {PEERS[of.over].title}", median, of.times)
        for of, median in _compared(workload, rounds)
        if of.times is not None
    ]
    verdicts.append(at_least("its deterministic return", value, workload.learned))
    return [dataclasses.asdict(verdict) for verdict in verdicts]


def stretched(workload: Workload, rounds: Sequence[Round]) -> list[dict[str, Any]]:
    """What would be better still, and whether that is so."""
    verdicts = [
        at_least(f"times as fast as {PEERS[of.over].title}", median, of.stretch)
        for of, median in _compared(workload, rounds)
        if of.stretch is not None
    ]
    return [dataclasses.asdict(verdict) for verdict in verdicts]


def _compared(workload: Workload, rounds: Sequence[Round]) -> list[tuple[Any, float]]:
    """Demands whose peer took part, with the median ratio."""
    return [
        (
            of,
            statistics.median(ratio(workload.measure, one, of.over) for one in rounds),
        )
        for of in workload.demands
        if of.over in rounds[0]
    ]
