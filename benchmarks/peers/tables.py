"""Results of `peers` as tables."""

from collections.abc import Sequence
from typing import Any

from yieldrl.benchmarks import results

from .venvs import PEERS
from .workloads import FIRST, OURS, WORKLOADS

# what is compared, as the head of a column
UNITS = {
    "steps_per_second": "steps/s",
    "seconds_to_target": "s to target",
    "process_seconds": "s in all",
}


# whether the code was kept by an earlier run, in words
CODE = {True: "kept code", False: "no kept code", None: "eager"}


def title_of(side: str) -> str:
    return PEERS[side].title if side in PEERS else OURS


def row_title(result: dict[str, Any], side: str) -> str:
    """The name; of yieldrl's sides with whether their code was kept by an earlier run,
    which older results say by whether it began with an empty folder."""
    if side in PEERS:
        return title_of(side)
    if side == FIRST:
        return f"{OURS}, first run"
    kept = result["sides"][side].get("kept", not result.get("cold"))
    return f"{OURS}, {CODE[kept]}"


def shown(result: dict[str, Any]) -> results.Shown:
    """One workload: every side, the verdicts, what was timed."""
    summary, target = result["sides"], result["target"]
    header = ["side", UNITS[result["measure"]], f"times as fast is {OURS}"]
    header += ["in a first run", "in CPU time, steps/s", "return (least to most)"]
    if target is not None:
        header.append(f"reached {target:g}, after")
    rows = [_row(result, side) for side in summary]
    notes = results.verdicts(result)
    notes += [f"stretch: {results.verdict(of)}" for of in result["stretches"]]
    notes += [f"left out, {side}: {why}" for side, why in result["left_out"].items()]
    for side in (name for name in (OURS, FIRST) if name in summary):
        title, of = row_title(result, side), result["rounds"][0][side]
        notes += [f"{title}: {decision}" for decision in of.get("decisions", [])]
    return result["title"], (header, rows), [*notes, "", where(result)]


def where(result: dict[str, Any]) -> str:
    """Which part of which run was timed, and on how many cores."""
    threads = result["threads"]
    cores = "1 thread" if threads == 1 else f"{threads} threads"
    part = f"{result['warm_up']:,} to {result['steps']:,}"
    text = f"steps {part} of a run planned for {result['planned']:,}; {cores}"
    if FIRST not in result["sides"]:
        return text
    return f"{text}; a first run, with nothing compiled before: its first minute"


def brief(found: Sequence[dict[str, Any]]) -> str:
    """Many workloads, a row for every peer that something is demanded against."""
    header = ["workload", "against", "code", "times as fast", "asked for", "stretch"]
    header += ["in a first run", "asked for", "return"]
    rows: list[list[str]] = []
    for result in found:
        for demand in WORKLOADS[result["workload"]].demands:
            if demand.over in result["sides"]:
                rows.append(_brief_row(result, demand))
    return results.table(header, rows)


def value_of(result: dict[str, Any], side: str) -> str:
    of, measure = result["sides"][side], result["measure"]
    if measure == "steps_per_second":
        return f"{of[measure]:,.0f}"
    if measure == "process_seconds":
        return f"{of[measure]:.1f}"
    return f"{of['reached']['seconds']:.1f}" if of["reached"]["runs"] else "never"


def ratio_of(result: dict[str, Any], side: str) -> str:
    """How many times as fast yieldrl is: the median, and from least to most."""
    return _ratio(result["sides"][side], "")


def first_ratio_of(result: dict[str, Any], side: str) -> str:
    """How many times as fast a first run of yieldrl is, if there was one."""
    return _ratio(result["sides"][side], "first_")


def _ratio(of: dict[str, Any], prefix: str) -> str:
    if f"{prefix}ratio" not in of:
        return " "
    least, most = of[f"{prefix}ratios"]
    return f"{of[f'{prefix}ratio']:.2f} ({least:.2f} to {most:.2f})"


def return_of(result: dict[str, Any], side: str) -> str:
    of = result["sides"][side]
    least, most = of["returns"]
    others = of["steps"] < result["steps"] or side == FIRST
    after = f", {of['steps']:,.0f} steps" if others else ""
    return f"{of['return']:.4g} ({least:.4g} to {most:.4g}{after})"


def reached_of(result: dict[str, Any], side: str) -> str:
    """After how many steps and seconds the target was reached, and by how many runs."""
    of = result["sides"][side]["reached"]
    runs = f"{of['runs']:.0f} of {len(result['rounds'])} runs"
    if not of["runs"]:
        return runs
    return f"{of['steps']:,.0f} steps, {of['seconds']:.1f} s ({runs})"


def _row(result: dict[str, Any], side: str) -> list[str]:
    cpu = f"{result['sides'][side]['steps_per_cpu_second']:,.0f}"
    row = [row_title(result, side), value_of(result, side), ratio_of(result, side)]
    row += [first_ratio_of(result, side), cpu, return_of(result, side)]
    if result["target"] is not None:
        row.append(reached_of(result, side))
    return row


def _brief_row(result: dict[str, Any], demand: Any) -> list[str]:
    summary = result["sides"]
    of = summary[demand.over]
    code = row_title(result, OURS).removeprefix(f"{OURS}, ")
    name = f"{result['workload']}: {result['title']}"
    row = [name, title_of(demand.over), code, f"{of['ratio']:.2f}"]
    row += [_bound(demand.times), _bound(demand.stretch)]
    first = "first_ratio" in of
    row += [f"{of['first_ratio']:.2f}", _bound(demand.first_run)] if first else ["", ""]
    returns = [f"{summary[side]['return']:.4g}" for side in (OURS, demand.over)]
    return [*row, " / ".join(returns)]


def _bound(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
