"""What pages show of a result of `peers`: a row for every demand, and every side."""

from typing import Any

from yieldrl.benchmarks.results import link

from .venvs import PEERS
from .workloads import COMPILED, OURS, WORKLOADS

UNITS = {"steps_per_second": "steps/s", "process_seconds": "s in all"}


def entries(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """The rows for every demand, `summary`, and for every side, `table`."""
    sides = result["sides"]
    brief: list[list[str]] = []
    for demand in WORKLOADS[result["workload"]].demands:
        if demand.over in sides:
            of = sides[demand.over]
            row = [f"{result['title']}<br>{link(name)}", PEERS[demand.over].title]
            row += [f"**{ratio_of(of)}**", ratio_of(of, "compiled_")]
            row += [return_of(result, side) for side in (OURS, demand.over)]
            brief.append(row)
    rows = [[f"**{result['title']}**<br>{link(name)}", *[" "] * 5]]
    for side, of in sides.items():
        own = {OURS: OURS, COMPILED: f"{OURS}, compiled"}
        row = [own[side] if side in own else PEERS[side].title]
        value = of[result["measure"]]
        row += [f"{value:,.0f}" if value > 100 else f"{value:.1f}"]
        row[-1] += f" {UNITS[result['measure']]}"
        row += [ratio_of(of), ratio_of(of, "compiled_"), return_of(result, side)]
        rows.append([*row, " "])
    asked = [
        f"{of['demand']}: {of['value']:.3g} of {of['bound']:g}"
        + ("" if of["holds"] else ", **not enough**")
        for of in result["demands"]
    ]
    rows[-len(sides)][-1] = "<br>".join(asked)
    header = ["training", "beside", "times as fast", "compiled"]
    header += ["return", "its return"]
    heads = ["side", "measured", "yieldrl is times as fast", "compiled"]
    heads += ["return", "asked for"]
    return {
        "summary": {"header": header, "rows": brief},
        "table": {"header": heads, "rows": rows},
    }


def ratio_of(of: dict[str, Any], prefix: str = "") -> str:
    """How many times as fast yieldrl is: the median, and from least to most."""
    if f"{prefix}ratio" not in of:
        return " "
    least, most = of[f"{prefix}ratios"]
    return f"{of[f'{prefix}ratio']:.2f} ({least:.2f} to {most:.2f})"


def return_of(result: dict[str, Any], side: str) -> str:
    """Median, least and greatest, and after how many steps if they are others."""
    of = result["sides"][side]
    least, most = of["returns"]
    others = of["steps"] < result["steps"]
    after = f", {of['steps']:,.0f} steps" if others else ""
    return f"{of['return']:.4g} ({least:.4g} to {most:.4g}{after})"
