"""One workload with all its peers, in rounds: every side once and then once more, each
time in a process of its own.

Sides take turns (A B C A B C ...), because what else a machine does changes by the
minute; ratios are taken within a round.
"""

import dataclasses
import json
import os
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from yieldrl.benchmarks import results, subprocesses

from .workloads import COMPILED, OURS, PEERS, WORKLOADS, Measure, Workload, python_of

HERE = Path(__file__).resolve().parent
MEDIANS = ("steps", "steps_per_second", "seconds", "process_seconds", "return")
UNITS = {"steps_per_second": "steps/s", "process_seconds": "s in all"}

Round = dict[str, Any]  # `seed`, and what every side answered


def benchmark(
    name: str,
    command: str,
    *,
    peers: Sequence[str] = (),
    runs: int | None = None,
    quick: bool = False,
) -> dict[str, Any]:
    """Measure a workload with some of its peers in so many rounds, and judge it; to be
    quick there are fewer steps, and nothing is compiled.

    Raises:
        RuntimeError: If an environment cannot be made, or a side fails.
    """
    workload = WORKLOADS[name]
    others = [of.over for of in workload.demands if of.over in (peers or PEERS)]
    compiled = [COMPILED] * (not quick and any(of.compiled for of in workload.demands))
    steps = workload.quick_steps if quick else workload.steps
    runs = runs or (1 if quick else 5)
    folder = results.ROOT / ".cache" / "peers"
    pythons = dict.fromkeys([OURS, *compiled], Path(sys.executable))
    pythons |= {peer: python_of(peer, folder) for peer in others}
    result = results.circumstances("peers", command, range(1, runs + 1))
    rounds: list[Round] = []
    for seed in range(1, runs + 1):
        round_: Round = {"seed": seed}
        for side, python in pythons.items():
            round_[side] = ask(side, task_of(name, steps, seed, side), python)
        rounds.append(round_)
        print(f"{name}, round {seed} of {runs}", flush=True)
    versions = {side: of[side].pop("versions") for of in rounds for side in pythons}
    return result | {
        **dataclasses.asdict(workload),
        "workload": name,
        "planned": max(workload.planned, steps),
        "steps": steps,
        "requirements": {peer: PEERS[peer].requirements for peer in others},
        "versions_of": versions,
        "sides": summarize(workload, rounds),
        "demands": judge(workload, rounds),
        "rounds": rounds,
    }


def task_of(name: str, steps: int, seed: int, side: str) -> Round:
    """What a side is asked, in the words of `sides/contract.py`."""
    of, kept = WORKLOADS[name], ("warm_up", "threads", "episodes", "evaluate_every")
    task: Round = {key: getattr(of, key) for key in kept}
    task |= {"workload": name, "settings": dict(of.settings), "steps": steps}
    task |= {"planned": max(of.planned, steps), "seed": seed}
    return task | {"compiled": side == COMPILED}


def ask(side: str, task: Round, python: Path) -> Round:
    """Run a side once; what it answers, and the seconds of its process. A peer finds
    `sides` and its own packages alone.

    Raises:
        RuntimeError: If it ends with an error; the message ends with its output.
    """
    module = f"sides.{side}" if side in PEERS else "sides.ours"
    command = [str(python), "-m", module, json.dumps(task)]
    known = "" if side in PEERS else os.environ.get("PYTHONPATH", "")
    path = os.pathsep.join(filter(None, [str(HERE), known]))
    begin = time.perf_counter()
    found = subprocesses.answer(command, task["threads"], PYTHONPATH=path)
    seconds = time.perf_counter() - begin - found.pop("evaluation_seconds")
    return {**found, "process_seconds": seconds}


def ratio(measure: Measure, round_: Round, peer: str, side: str = OURS) -> float:
    """How many times faster than a peer yieldrl was in a round, on one of its sides."""
    own, other = round_[side][measure], round_[peer][measure]
    return own / other if measure == "steps_per_second" else other / own


def summarize(workload: Workload, rounds: Sequence[Round]) -> dict[str, Any]:
    """Side -> medians and returns; for peers the ratios to them."""
    summary: dict[str, Any] = {}
    for side in (name for name in (OURS, COMPILED, *PEERS) if name in rounds[0]):
        answers = [round_[side] for round_ in rounds]
        of = {name: statistics.median(a[name] for a in answers) for name in MEDIANS}
        returns = [answer["return"] for answer in answers]
        of["returns"] = [min(returns), max(returns)]
        if side in PEERS:
            for own, prefix in ((OURS, ""), (COMPILED, "compiled_")):
                if own in rounds[0]:
                    found = [ratio(workload.measure, r, side, own) for r in rounds]
                    of[f"{prefix}ratio"] = statistics.median(found)
                    of[f"{prefix}ratios"] = [min(found), max(found)]
        summary[side] = of
    return summary


def judge(workload: Workload, rounds: Sequence[Round]) -> list[dict[str, Any]]:
    """What is demanded of yieldrl, by medians, and whether it is so."""
    found: list[tuple[str, float, float]] = []
    for of in workload.demands:
        for side, bound in {OURS: of.times, COMPILED: of.compiled}.items():
            if bound is not None and {of.over, side} <= rounds[0].keys():
                ratios = [ratio(workload.measure, r, of.over, side) for r in rounds]
                words = f"times as fast as {PEERS[of.over].title}"
                words += ", compiled" * (side == COMPILED)
                found.append((words, statistics.median(ratios), bound))
    best = [max(value for *_, value in r[OURS]["curve"]) for r in rounds]
    learned = "its deterministic return", statistics.median(best), workload.learned
    found.append(learned)
    return [
        {"demand": words, "value": value, "bound": bound, "holds": value >= bound}
        for words, value, bound in found
    ]


def entries(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """The rows for every demand, `summary`, and for every side, `table`."""
    sides = result["sides"]
    title = f"{result['title']}<br>{results.link(name)}"
    brief: list[list[str]] = []
    for demand in WORKLOADS[result["workload"]].demands:
        if demand.over in sides:
            of = sides[demand.over]
            row = [title, PEERS[demand.over].title]
            row += [f"**{ratio_of(of)}**", ratio_of(of, "compiled_")]
            row += [return_of(result, side) for side in (OURS, demand.over)]
            brief.append(row)
    rows = [[f"**{result['title']}**<br>{results.link(name)}", *[" "] * 5]]
    titles = {side: peer.title for side, peer in PEERS.items()}
    titles |= {OURS: OURS, COMPILED: f"{OURS}, compiled"}
    for side, of in sides.items():
        value, unit = of[result["measure"]], UNITS[result["measure"]]
        row = [titles[side], f"{value:,.{0 if value > 100 else 1}f} {unit}"]
        row += [ratio_of(of), ratio_of(of, "compiled_"), return_of(result, side)]
        rows.append([*row, " "])
    asked = [
        f"{of['demand']}: {of['value']:.3g} of {of['bound']:g}"
        + ("" if of["holds"] else ", **not enough**")
        for of in result["demands"]
    ]
    rows[-len(sides)][-1] = "<br>".join(asked)
    heads = "training", "beside", "times as fast", "compiled", "return", "its return"
    shown = {"summary": {"header": [*heads], "rows": brief}}
    heads = "side", "measured", "yieldrl is times as fast", "compiled", "return"
    return shown | {"table": {"header": [*heads, "asked for"], "rows": rows}}


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
