"""Results of `peers` as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from yieldrl.benchmarks import results

from .venvs import PEERS
from .workload import OURS
from .workloads import WORKLOADS

UNITS = {
    "steps_per_second": "steps/s",
    "seconds_to_target": "s to target",
    "process_seconds": "s in all",
}
"""What is compared, as the head of a column."""


def title_of(side: str) -> str:
    """A library's own name."""
    return OURS if side == OURS else PEERS[side].title


def report(result: dict[str, Any]) -> str:
    """One workload: every side, the verdicts, the circumstances."""
    summary, target = result["summary"], result["target"]
    header = ["side", UNITS[result["measure"]], f"times as fast is {OURS}"]
    header += ["in CPU time, steps/s", "return (least to most)"]
    if target is not None:
        header.append(f"reached {target:g}, after")
    rows = [_row(result, side) for side in summary]
    lines = [result["title"], "", results.table(header, rows), ""]
    lines += [results.verdict(of) for of in result["demands"]]
    lines += [f"stretch: {results.verdict(of)}" for of in result["stretches"]]
    lines += [f"left out, {side}: {why}" for side, why in result["left_out"].items()]
    said = result["rounds"][0][OURS].get("decisions", [])
    lines += [f"{OURS} in the first round: {decision}" for decision in said]
    return "\n".join([*lines, "", where(result), results.footer(result)])


def where(result: dict[str, Any]) -> str:
    """Which part of which run was timed, and on how many cores."""
    threads = result["threads"]
    cores = "as many threads as each takes by itself"
    if threads is not None:
        cores = "1 thread" if threads == 1 else f"{threads} threads"
    part = f"{result['warm_up']:,} to {result['steps']:,}"
    return f"steps {part} of a run planned for {result['planned']:,}; {cores}"


def brief(found: Sequence[dict[str, Any]]) -> str:
    """Many workloads, a row for every peer that something is demanded against."""
    header = ["workload", "against", "times as fast", "asked for", "stretch", "return"]
    rows: list[list[str]] = []
    for result in found:
        for demand in WORKLOADS[result["workload"]].demands:
            if demand.over in result["summary"]:
                rows.append(_brief_row(result, demand))
    return results.table(header, rows)


def value_of(result: dict[str, Any], side: str) -> str:
    """What is compared, of one side."""
    of, measure = result["summary"][side], result["measure"]
    if measure == "steps_per_second":
        return f"{of[measure]:,.0f}"
    if measure == "process_seconds":
        return f"{of[measure]:.1f}"
    return f"{of['reached']['seconds']:.1f}" if of["reached"]["runs"] else "never"


def ratio_of(result: dict[str, Any], side: str) -> str:
    """How many times as fast yieldrl is: the median, and from least to most."""
    of = result["summary"][side]
    least, most = of.get("ratios", (1.0, 1.0))
    return f"{of['ratio']:.2f} ({least:.2f} to {most:.2f})" if "ratio" in of else " "


def return_of(result: dict[str, Any], side: str) -> str:
    """Deterministic returns at the end of training."""
    of = result["summary"][side]
    least, most = of["returns"]
    after = f", {of['steps']:,.0f} steps" if of["steps"] < result["steps"] else ""
    return f"{of['return']:.4g} ({least:.4g} to {most:.4g}{after})"


def reached_of(result: dict[str, Any], side: str) -> str:
    """After how many steps and seconds the target was reached, and by how many runs."""
    of = result["summary"][side]["reached"]
    runs = f"{of['runs']:.0f} of {len(result['rounds'])} runs"
    if not of["runs"]:
        return runs
    return f"{of['steps']:,.0f} steps, {of['seconds']:.1f} s ({runs})"


def _row(result: dict[str, Any], side: str) -> list[str]:
    cpu = f"{result['summary'][side]['steps_per_cpu_second']:,.0f}"
    row = [title_of(side), value_of(result, side), ratio_of(result, side), cpu]
    row.append(return_of(result, side))
    if result["target"] is not None:
        row.append(reached_of(result, side))
    return row


def _brief_row(result: dict[str, Any], demand: Any) -> list[str]:
    asked = "" if demand.times is None else f"{demand.times:g}"
    stretch = "" if demand.stretch is None else f"{demand.stretch:g}"
    ratio = f"{result['summary'][demand.over]['ratio']:.2f}"
    returns = [f"{result['summary'][s]['return']:.4g}" for s in (OURS, demand.over)]
    name = f"{result['workload']}: {result['title']}"
    against = title_of(demand.over)
    return [name, against, ratio, asked, stretch, " / ".join(returns)]
