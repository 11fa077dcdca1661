"""Tables of speed.

- `::: table worlds` is a table of the steps per second of environments alone.
- `::: table beside` is one of whole training runs beside other libraries, in brief.
- `::: table peers` is a section of workloads beside other libraries, if any was run.
"""

from __future__ import annotations

from typing import Any

from yieldrl.benchmarks.peers import WORKLOADS
from yieldrl.benchmarks.peers import tables as peers
from yieldrl.benchmarks.results import link, with_commands

from .directives import directive
from .measured import Result, can_be_drawn, committed, machine, unless_held

SIZES = (1, 16, 256, 1024, 16384, 65536)  # of those measured, what a page has room for
PEERS = """## Beside other libraries

Each library has a virtual environment of its own and the same settings. They take
turns, in a process each. Returns are those of deterministic episodes at the end of
training. Of all there is the median, and the least and the greatest.

*Kept code* was compiled by an earlier run of the same kind, and is loaded. A *first
run* has none, as on a machine where nothing was ever trained: its first minute is
timed, in which the compiler works beside it. *Eager* runs compile nothing, as it would
not pay."""


@directive("table worlds")
def worlds_table() -> str:
    """Steps per second: a row for every environment and below it one for each of its
    implementations, the fastest of a size bold."""
    rows, found = [], committed("worlds")
    for name, result in found.items():
        at = {point["num_envs"]: point["sides"] for point in result["points"]}
        rows.append([_world(name, result), *[" "] * (len(SIZES) + 1)])
        for side in result["sides"]:
            speeds = [_speed(at.get(size, {}), side) for size in SIZES]
            memory = [p[side]["bytes_per_env"] for p in at.values() if side in p][-1]
            rows.append([side, *speeds, f"{memory:,.0f}" if memory else " "])
    return with_commands(["side", *(f"{n:,}" for n in SIZES), "bytes"], rows, found)


def _world(name: str, result: Result) -> str:
    """The environment, the machine, and how many demands of speed hold."""
    many = "1 thread" if result["threads"] == 1 else f"{result['threads']} threads"
    hardware = result["hardware"]
    lines = [f"**{result['env_id']}**", hardware.get("gpu") or hardware["cpu"], many]
    verdicts = [of["holds"] for of in result["demands"] if of["holds"] is not None]
    if verdicts:
        lines.append(f"{sum(verdicts)} of {len(verdicts)} demands hold")
    if can_be_drawn(name):
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


@directive("table beside")
def beside_table() -> str:
    """How many times as fast training is as a peer's: a row for every demand."""
    found, rows = committed("peers"), []
    for name, result in found.items():
        for demand in WORKLOADS[result["workload"]].demands:
            if demand.over in result["summary"]:
                title = f"{result['title']}<br>{link(name)}"
                code = peers.row_title(result, "yieldrl").removeprefix("yieldrl, ")
                ratio = f"**{peers.ratio_of(result, demand.over)}**"
                first = peers.first_ratio_of(result, demand.over)
                sides = ("yieldrl", demand.over)
                returns = [peers.return_of(result, side) for side in sides]
                other = peers.title_of(demand.over)
                rows.append([title, other, code, ratio, first, *returns])
    header = ["training", "beside", "code", "times as fast", "in a first run"]
    return with_commands([*header, "return", "its return"], rows, found)


@directive("table peers")
def peers_section() -> str:
    """Every workload beside other libraries: speed, returns and demands."""
    found, rows = committed("peers"), []
    if not found:
        return ""
    for name, result in found.items():
        rows.append([f"**{result['title']}**<br>{link(name)}", *[" "] * 5])
        for side in result["summary"]:
            speed = f"{peers.value_of(result, side)} {peers.UNITS[result['measure']]}"
            ratios = [of(result, side) for of in (peers.ratio_of, peers.first_ratio_of)]
            title, learned = (
                peers.row_title(result, side),
                peers.return_of(result, side),
            )
            rows.append([title, speed, *ratios, learned, " "])
        rows[-len(result["summary"])][-1] = "<br>".join(map(_demand, result["demands"]))
    header = ["side", "measured", "yieldrl is times as fast", "in a first run"]
    header += ["return", "asked for"]
    machines = dict.fromkeys(f"O{machine(result)[1:]}" for result in found.values())
    return "\n\n".join([PEERS, with_commands(header, rows, found), *machines])


def _demand(demand: dict[str, Any]) -> str:
    """A demand, what was measured for it, and whether it holds."""
    text = f"{demand['demand']}: {demand['value']:.3g} of {demand['bound']:g}"
    return unless_held(demand, text)
