"""Rounds summed up: medians of every side, ratios within rounds, verdicts."""

import statistics
from collections.abc import Sequence
from typing import Any

from yieldrl.benchmarks.trial import at_least

from .rounds import Round
from .venvs import PEERS
from .workloads import FIRST, OURS, Demand, Measure, Workload

TIMES = (
    "steps",
    "steps_per_second",
    "steps_per_cpu_second",
    "seconds",
    "process_seconds",
)


def ratio(measure: Measure, round_: Round, peer: str, side: str = OURS) -> float:
    """How many times faster than a peer yieldrl was in a round, on one of its sides.

    A peer that did not reach the target is taken as having reached it at the end;
    yieldrl as never.
    """
    own, other = round_[side], round_[peer]
    if measure == "steps_per_second":
        return own[measure] / other[measure]
    if measure == "process_seconds":
        return other[measure] / own[measure]
    if own["reached"] is None:
        return 0.0
    reached = other["reached"] or other
    return reached["seconds"] / own["reached"]["seconds"]


def best(answer: dict[str, Any]) -> float:
    return max(value for _, _, value in answer["curve"])


def summarize(workload: Workload, rounds: Sequence[Round]) -> dict[str, Any]:
    """Side -> medians and returns; for peers the ratios, for yieldrl whether code was
    kept."""
    sides = [name for name in (OURS, FIRST, *PEERS) if name in rounds[0]]
    summary: dict[str, Any] = {}
    for side in sides:
        answers = [round_[side] for round_ in rounds]
        of = {name: statistics.median(a[name] for a in answers) for name in TIMES}
        returns = [answer["return"] for answer in answers]
        of["return"] = statistics.median(returns)
        of["returns"] = [min(returns), max(returns)]
        of["reached"] = reached(answers)
        if side in PEERS:
            of |= _ratios(workload.measure, rounds, side)
        elif "kept" in answers[0]:  # older results do not say so
            of["kept"] = kept(answers)
        summary[side] = of
    return summary


def _ratios(measure: Measure, rounds: Sequence[Round], peer: str) -> dict[str, Any]:
    """Ratios to a peer, of each of yieldrl's sides."""
    of: dict[str, Any] = {}
    for side, prefix in ((OURS, ""), (FIRST, "first_")):
        if side in rounds[0]:
            found = [ratio(measure, round_, peer, side) for round_ in rounds]
            of[f"{prefix}ratio"] = statistics.median(found)
            of[f"{prefix}ratios"] = [min(found), max(found)]
    return of


def kept(answers: Sequence[dict[str, Any]]) -> bool | None:
    """Whether the code of every run was kept by an earlier one; None without code."""
    found = [answer["kept"] for answer in answers]
    return None if all(x is None for x in found) else all(found)


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
        at_least(_asked(of, side), median, bound)
        for of, side, bound in _demands(workload)
        if (median := _median(workload, rounds, of, side)) is not None
    ]
    verdicts.append(at_least("its deterministic return", value, workload.learned))
    return verdicts


def stretched(workload: Workload, rounds: Sequence[Round]) -> list[dict[str, Any]]:
    return [
        at_least(_asked(of, OURS), median, of.stretch)
        for of in workload.demands
        if of.stretch is not None
        and (median := _median(workload, rounds, of, OURS)) is not None
    ]


def _demands(workload: Workload) -> list[tuple[Demand, str, float]]:
    """What is asked for of each of yieldrl's sides."""
    found = [(of, OURS, of.times) for of in workload.demands]
    found += [(of, FIRST, of.first_run) for of in workload.demands]
    return [(of, side, bound) for of, side, bound in found if bound is not None]


def _asked(of: Demand, side: str) -> str:
    words = f"times as fast as {PEERS[of.over].title}"
    return f"{words}, in a first run" if side == FIRST else words


def _median(
    workload: Workload, rounds: Sequence[Round], of: Demand, side: str
) -> float | None:
    """The median ratio; None where the peer or yieldrl's side took no part."""
    if of.over not in rounds[0] or side not in rounds[0]:
        return None
    return statistics.median(ratio(workload.measure, r, of.over, side) for r in rounds)
