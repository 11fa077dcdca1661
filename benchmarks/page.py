"""What pages show of a result: kept in its file, so that the site computes nothing.

`summary` are rows of the table of its kind, with their header; `table` is its own
table, `says` a sentence, and `alt` the words for its figure.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from . import scores
from .learning import final_returns, is_control, world
from .peers import tables
from .peers.workloads import OURS, WORKLOADS
from .results import link
from .tasks import published_beside

Result = dict[str, Any]
SIZES = (1, 16, 256, 1024, 16384, 65536)  # of those measured, what a page has room for


def entries(name: str, result: Result) -> Result:
    """The entries that a result's file has for pages."""
    return KINDS.get(result["kind"], claim)(name, result)


def learning(name: str, result: Result) -> Result:
    """A task: returns over seeds, what counts as learned, and what it stands beside."""
    returns, beside = final_returns(result["runs"]), _beside(result)
    steps, mean = result["whole_config"]["total_steps"], statistics.mean(returns)
    least, most = min(returns), max(returns)
    learned = "a control" if is_control(result) else held(result)
    says = (
        f"**{world(result)}**, {steps:,} steps: mean return {mean:.4g} over"
        f" {len(returns)} seeds, from {least:.4g} to {most:.4g}"
    )
    if not is_control(result):
        says += f"; {result['threshold']:g} or more on {held(result)}"
    if beside:
        says += f". Beside it: {'; '.join(beside)}.{_intervals(result)}"
    header = ["task", "environment", "steps", "mean", "seeds", "learned", "reference"]
    row = [link(name), world(result), f"{steps:,}", f"**{mean:.4g}**"]
    row += [f"{least:.4g} to {most:.4g}", learned, "<br>".join(beside) or " "]
    return {
        "summary": {"header": header, "rows": [row]},
        "says": says.removesuffix(".") + ".",
        "world": world(result),
        "alt": f"Returns of {result['algorithm']} on {world(result)} as they train",
    }


def evidence(name: str, result: Result) -> Result:
    """A claim that is judged seed by seed."""
    algorithm, statement = name.rpartition("-")[0], result["statement"]
    numbers = [run["numbers"] for run in result["runs"]]
    of = [f"{k}: {statistics.mean(n[k] for n in numbers):.4g}" for k in numbers[0]]
    row = [link(name), statement, "<br>".join(of), held(result)]
    return {
        "algorithm": algorithm,
        "summary": {
            "header": ["claim", "says", "means over seeds", "held"],
            "rows": [row],
        },
        "says": (
            f"**{statement}** Means over seeds: {'; '.join(of)}. It held on"
            f" {held(result)} seeds."
        ),
        "alt": f"{algorithm}: {statement}",
    }


def claim(name: str, result: Result) -> Result:
    """A claim that is judged by all runs together."""
    demands = result["demands"]
    found = [_demand(each, f"**{each['value']:.4g}**") for each in demands]
    asked = "<br>".join(f"{each['bound']:g}" for each in demands)
    short = f"[{name.partition('-')[2]}](results/{name}.json)"
    row = [short, result["statement"], "<br>".join(found) or " ", asked or " "]
    return {
        "summary": {
            "header": ["trial", "says", "measured", "asked for"],
            "rows": [row],
        },
        "alt": result["statement"],
    }


def worlds(name: str, result: Result) -> Result:
    """Steps per second: a row for the environment, and one for each implementation."""
    at = {point["num_envs"]: point["sides"] for point in result["points"]}
    rows = [[_world(name, result), *[" "] * (len(SIZES) + 1)]]
    for side in result["sides"]:
        speeds = [_speed(at.get(size, {}), side) for size in SIZES]
        memory = [of[side]["bytes_per_env"] for of in at.values() if side in of][-1]
        rows.append([side, *speeds, f"{memory:,.0f}" if memory else " "])
    header = ["side", *(f"{size:,}" for size in SIZES), "bytes"]
    alt = f"Steps per second of {result['env_id']} against the number of environments"
    return {"summary": {"header": header, "rows": rows}, "alt": alt}


def peers(name: str, result: Result) -> Result:
    """A workload beside other libraries: a row for every demand, and every side."""
    brief = []
    for demand in WORKLOADS[result["workload"]].demands:
        if demand.over in result["sides"]:
            code = tables.row_title(result, OURS).removeprefix(f"{OURS}, ")
            row = [f"{result['title']}<br>{link(name)}", tables.title_of(demand.over)]
            row += [code, f"**{tables.ratio_of(result, demand.over)}**"]
            row.append(tables.first_ratio_of(result, demand.over))
            row += [tables.return_of(result, side) for side in (OURS, demand.over)]
            brief.append(row)
    rows = [[f"**{result['title']}**<br>{link(name)}", *[" "] * 5]]
    for side in result["sides"]:
        unit = tables.UNITS[result["measure"]]
        row = [
            tables.row_title(result, side),
            f"{tables.value_of(result, side)} {unit}",
        ]
        row += [tables.ratio_of(result, side), tables.first_ratio_of(result, side)]
        rows.append([*row, tables.return_of(result, side), " "])
    asked = [f"{of['value']:.3g} of {of['bound']:g}" for of in result["demands"]]
    each = zip(result["demands"], asked, strict=True)
    rows[-len(result["sides"])][-1] = "<br>".join(_demand(*pair) for pair in each)
    header = ["training", "beside", "code", "times as fast", "in a first run"]
    header += ["return", "its return"]
    sides = ["side", "measured", "yieldrl is times as fast", "in a first run"]
    sides += ["return", "asked for"]
    return {
        "summary": {"header": header, "rows": brief},
        "table": {"header": sides, "rows": rows},
    }


KINDS: dict[str, Callable[[str, Result], Result]] = {
    "evidence": evidence,
    "learning": learning,
    "peers": peers,
    "worlds": worlds,
}


def held(result: Result) -> str:
    """On how many seeds a criterion held, and whether that was enough."""
    enough = "" if result["holds"] else ": **too few**"
    return f"{result['passed']} of {len(result['runs'])}{enough}"


def _demand(demand: Result, value: str) -> str:
    """A demand and what was measured for it, with a remark if it does not hold."""
    text = f"{demand['demand']}: {value}"
    return text if demand["holds"] else f"{text}, **not enough**"


def _beside(result: Result) -> list[str]:
    """What a result is compared with: the reference's mean, and a published number."""
    parts = []
    if "reference" in result:
        of = result["reference"]
        returns = final_returns(of["runs"])
        by = f"{of['library']} {of['algorithm']}, {len(returns)} seeds"
        settings = f"; {of['source']}" if "source" in of else ""
        parts.append(f"{statistics.mean(returns):.4g} ({by}{settings})")
    published = published_beside(result)
    if published is not None:
        parts.append(f"{published.value:g} ({published.source})")
    return parts


def _intervals(result: Result) -> str:
    """Interquartile means of both sides, if each has at least four seeds."""
    runs = [of["runs"] for of in (result, result.get("reference")) if of]
    if len(runs) < 2 or min(map(len, runs)) < 4:
        return ""
    own, other = (scores.text(final_returns(of)) for of in runs)
    return (
        f" Interquartile means and their 95 % intervals: {own}, and {other} beside it."
    )


def _world(name: str, result: Result) -> str:
    """The environment, the machine, and how many demands of speed hold."""
    many = "1 thread" if result["threads"] == 1 else f"{result['threads']} threads"
    hardware = result["hardware"]
    lines = [f"**{result['env_id']}**", hardware.get("gpu") or hardware["cpu"], many]
    verdicts = [of["holds"] for of in result["demands"] if of["holds"] is not None]
    if verdicts:
        lines.append(f"{sum(verdicts)} of {len(verdicts)} demands hold")
    return "<br>".join([*lines, f"[figure](results/{name}.svg)", link(name)])


def _speed(sides: dict[str, Any], side: str) -> str:
    """Steps per second in thousands or millions."""
    if side not in sides:
        return " "
    speeds = {name: of["steps_per_second"] for name, of in sides.items()}
    of = speeds[side]
    text = f"{of / 1e6:.3g}&nbsp;M" if of >= 1e6 else f"{of / 1e3:.3g}&nbsp;k"
    return f"**{text}**" if of == max(speeds.values()) else text
