"""What the site says of speed: made from committed results, not typed.

- `::: table worlds` is a table of the steps per second of worlds that nobody learns in.
- `::: table beside` is one of whole training runs beside other libraries, in brief.
- `::: table peers` is a section of workloads beside other libraries, if any was run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container
from pathlib import Path
from typing import Any

from yieldrl.benchmarks import plot
from yieldrl.benchmarks.peers import WORKLOADS
from yieldrl.benchmarks.peers import tables as peers
from yieldrl.benchmarks.results import link, with_commands

ROOT = Path(__file__).parents[1]
FOLDER = "benchmarks/results"
TABLE = re.compile(r"^::: table (worlds|beside|peers)$", re.MULTILINE)
SIZES = (1, 16, 256, 1024, 16384, 65536)  # of those measured, what a page has room for


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put tables where pages ask for them."""
    return TABLE.sub(lambda match: TABLES[match[1]](), markdown)


def committed(kind: str) -> dict[str, dict[str, Any]]:
    """Name -> every committed result of a kind, in the order of names."""
    paths = sorted((ROOT / FOLDER).glob(f"{kind}*.json"))
    return {path.stem: json.loads(path.read_text("utf-8")) for path in paths}


def worlds_table() -> str:
    """Steps per second: a row for every world and for each of its sides below it, the
    fastest of a size bold."""
    rows, found, drawable = [], committed("worlds"), plot.figures(ROOT / FOLDER)
    for name, result in found.items():
        at = {point["num_envs"]: point["sides"] for point in result["points"]}
        rows.append([_world(name, result, drawable), *[" "] * (len(SIZES) + 1)])
        for side in result["sides"]:
            speeds = [_speed(at.get(size, {}), side) for size in SIZES]
            held = [p[side]["bytes_per_env"] for p in at.values() if side in p][-1]
            rows.append([side, *speeds, f"{held:,.0f}" if held else " "])
    return with_commands(["side", *(f"{n:,}" for n in SIZES), "bytes"], rows, found)


def _world(name: str, result: dict[str, Any], drawable: Container[str]) -> str:
    """What was stepped, on what, and whether it is as fast as is demanded."""
    many = "1 thread" if result["threads"] == 1 else f"{result['threads']} threads"
    machine = result["hardware"]
    lines = [f"**{result['env_id']}**", machine.get("gpu") or machine["cpu"], many]
    verdicts = [of["holds"] for of in result["demands"] if of["holds"] is not None]
    if verdicts:
        lines.append(f"{sum(verdicts)} of {len(verdicts)} demands hold")
    if name in drawable:
        lines.append(f"[figure](results/{name}.svg)")
    return "<br>".join([*lines, link(name)])


def _speed(sides: dict[str, Any], side: str) -> str:
    """Steps per second in thousands or millions."""
    if side not in sides:
        return " "
    speeds = {name: of["steps_per_second"] for name, of in sides.items()}
    of = speeds[side]
    text = f"{of / 1e6:.3g}&nbsp;M" if of >= 1e6 else f"{of / 1e3:.3g}&nbsp;k"
    return f"**{text}**" if of == max(speeds.values()) else text


def beside_table() -> str:
    """How many times as fast training is as a peer's: a row for every demand."""
    found, rows = committed("peers"), []
    for name, result in found.items():
        for demand in WORKLOADS[result["workload"]].demands:
            if demand.over not in result["summary"]:
                continue
            title = f"{result['title']}<br>{link(name)}"
            ratio = f"**{peers.ratio_of(result, demand.over)}**"
            first = peers.first_ratio_of(result, demand.over)
            code = peers.row_title(result, "yieldrl").removeprefix("yieldrl, ")
            returns = [peers.return_of(result, of) for of in ("yieldrl", demand.over)]
            beside = peers.title_of(demand.over)
            rows.append([title, beside, code, ratio, first, *returns])
    if not rows:
        return "Nothing has been measured yet."
    header = ["training", "beside", "code", "times as fast", "in a first run"]
    header += ["return", "its return"]
    return with_commands(header, rows, found)


def peers_section() -> str:
    """Every workload beside other libraries: what was compared, learned, demanded."""
    found = committed("peers")
    if not found:
        return ""
    rows: list[list[str]] = []
    for name, result in found.items():
        rows.append([f"**{result['title']}**<br>{link(name)}", *[" "] * 5])
        for side in result["summary"]:
            unit = peers.UNITS[result["measure"]]
            speed = f"{peers.value_of(result, side)} {unit}"
            ratios = [of(result, side) for of in (peers.ratio_of, peers.first_ratio_of)]
            title, learned = (
                peers.row_title(result, side),
                peers.return_of(result, side),
            )
            rows.append([title, speed, *ratios, learned, " "])
        rows[-len(result["summary"])][-1] = "<br>".join(map(_demand, result["demands"]))
    header = ["side", "measured", "yieldrl is times as fast", "in a first run"]
    header += ["return", "asked for"]
    machines = {_machine(result): None for result in found.values()}
    return "\n\n".join([PEERS, with_commands(header, rows, found), *machines])


PEERS = """## Beside other libraries

Each library has a virtual environment of its own and the same settings. They take
turns, in a process each. Returns are those of deterministic episodes at the end of
training. Of all there is the median, and the least and the greatest.

*Kept code* was compiled by an earlier run of the same kind, and is loaded. A *first
run* has none, as on a machine where nothing was ever trained: its first minute is
timed, in which the compiler works beside it. *Eager* runs compile nothing, as it would
not pay."""


def _demand(demand: dict[str, Any]) -> str:
    """What was asked for, and whether it is so."""
    text = f"{demand['demand']}: {demand['value']:.3g} of {demand['bound']:g}"
    return text if demand["holds"] else f"{text}, **not enough**"


def _machine(result: dict[str, Any]) -> str:
    machine = result["hardware"]
    return f"On {machine['cores']} cores of {machine['cpu']}."


TABLES = {"worlds": worlds_table, "beside": beside_table, "peers": peers_section}
