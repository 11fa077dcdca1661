"""Steps per second of worlds against the number of environments, beside others'.

Every N has a fresh process, which may use as many cores as threads are asked for. All
sides are built in it, called until they are warm, and then timed in turn (A B C A B C
...), because what else a machine does changes by the minute.
"""

import gc
import inspect
import math
import statistics
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

from yieldrl.benchmarks import results, subprocesses
from yieldrl.benchmarks.peers.sides.contract import limit_threads
from yieldrl.benchmarks.style import COLORS, line
from yieldrl.core.files import read_file
from yieldrl.experiments.plot import Curve

from . import sides
from .sides import SEED, Batch

SIZES = tuple(4**k for k in range(9))  # 1 to 65 536
SHOWN = (1, 16, 256, 1024, 16384, 65536)  # what a page has room for
HOW = {"runs": 5, "seconds": 0.4}  # how often every side is timed, and how long

# world -> its entries in worlds.yaml. `docs/results/worlds-WORLD.json` has the result.
WORLDS: dict[str, Any] = read_file(Path(__file__).with_name("worlds.yaml"))["worlds"]


def benchmark(
    name: str, command: str, *, num_envs: Sequence[int], threads: int
) -> dict[str, Any]:
    """Measure all sides of a world at every N."""
    world, how = WORLDS[name], {"threads": threads, **HOW}
    result = results.circumstances("worlds", command, [SEED])
    result |= {"world": name, "env_id": world["env_id"], **how}
    points: list[dict[str, Any]] = []
    for count in sorted(num_envs):
        found = subprocesses.call(measure, threads, name=name, num_envs=count, **how)
        points.append(found)
        print(f"{name}, {count} done", flush=True)
    took_part = {side for point in points for side in point["sides"]}
    result["sides"] = [side for side in world["sides"] if side in took_part]
    return result | {"points": points}


def measure(
    name: str, num_envs: int, threads: int, runs: int, seconds: float
) -> dict[str, Any]:
    """Time all sides that take part at one N in turn, in this process, which is changed
    by that."""
    limit_threads(threads)
    torch.set_num_threads(threads)
    batches, counts = {}, {}
    for title, fields in WORLDS[name]["sides"].items():
        missing = "package" in fields and not find_spec(fields["package"])
        if not missing and num_envs <= fields.get("most", num_envs):
            counts[title] = fields.get("fixed", num_envs)
            batches[title] = build(WORLDS[name], fields, counts[title], threads)
    gc.collect()
    gc.freeze()  # thousands of environments would be looked through again and again
    return {"num_envs": num_envs, "sides": compare(batches, counts, runs, seconds)}


def build(world: Mapping[str, Any], fields: Any, n: int, threads: int) -> Batch:
    """A side's batch, from what its function takes of the world's entries and its."""
    builder, given = getattr(sides, fields["build"]), {**world, **fields}
    taken = inspect.signature(builder).parameters.keys() & given.keys()
    return builder(n, threads, **{name: given[name] for name in taken})


def compare(
    batches: Mapping[str, Batch], counts: Mapping[str, int], runs: int, seconds: float
) -> dict[str, Any]:
    """Time batches in turn, each for so many seconds a run."""
    calls = {title: warm_up(batch, seconds) for title, batch in batches.items()}
    speeds: dict[str, list[float]] = {title: [] for title in batches}
    for _ in range(runs):
        for title, batch in batches.items():
            taken = timed(batch, calls[title])
            speeds[title].append(calls[title] * batch.steps * counts[title] / taken)
    return {
        title: {
            "steps_per_second": statistics.median(speeds[title]),
            "runs": speeds[title],
            "calls": calls[title],
            "bytes_per_env": batch.bytes_per_env,
        }
        for title, batch in batches.items()
    }


def warm_up(batch: Batch, seconds: float) -> int:
    """Call a batch until it is warm; how many calls take that many seconds."""
    calls, taken = 1, 0.0
    while taken < seconds / 4:
        calls *= 2
        taken = timed(batch, calls)
    return max(1, math.ceil(calls * seconds / taken))


def timed(batch: Batch, calls: int) -> float:
    """Seconds of that many calls, until all is computed."""
    batch.wait()
    begin = time.perf_counter()
    for _ in range(calls):
        batch.step()
    batch.wait()
    return time.perf_counter() - begin


def entries(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """What pages show: a row for the environment, and one for each implementation."""
    at = {point["num_envs"]: point["sides"] for point in result["points"]}
    threads = f"{result['threads']} thread{'s' * (result['threads'] > 1)}"
    lines = [f"**{result['env_id']}**", result["hardware"]["cpu"], threads]
    lines += [f"[figure](results/{name}.svg)", results.link(name)]
    rows = [["<br>".join(lines), *[" "] * (len(SHOWN) + 1)]]
    for side in result["sides"]:
        speeds = [_speed(at.get(size, {}), side) for size in SHOWN]
        memory = [of[side]["bytes_per_env"] for of in at.values() if side in of][-1]
        rows.append([side, *speeds, f"{memory:,.0f}" if memory else " "])
    header = ["side", *(f"{size:,}" for size in SHOWN), "bytes"]
    alt = f"Steps per second of {result['env_id']} against the number of environments"
    return {"summary": {"header": header, "rows": rows}, "alt": alt}


def _speed(found: dict[str, Any], side: str) -> str:
    """Steps per second in thousands or millions; the fastest in bold."""
    if side not in found:
        return " "
    of, fastest = found[side], max(x["steps_per_second"] for x in found.values())
    speed = of["steps_per_second"]
    text = f"{speed / 1e6:.3g}&nbsp;M" if speed >= 1e6 else f"{speed / 1e3:.3g}&nbsp;k"
    return f"**{text}**" if speed == fastest else text


def draw(axes: Any, result: dict[str, Any]) -> None:
    """Every side's median over N, and a band from its slowest run to its fastest."""
    from matplotlib.ticker import EngFormatter

    for color, side in zip(COLORS, result["sides"], strict=False):
        there = [p for p in result["points"] if side in p["sides"]]
        runs = np.array([point["sides"][side]["runs"] for point in there])
        sizes = np.array([point["num_envs"] for point in there])
        ends = runs.min(1), runs.max(1)
        drawn = Curve(side, sizes, np.median(runs, 1), *ends, runs.shape[1])
        line(axes, drawn, color, ".-")
    counts = [point["num_envs"] for point in result["points"]]
    axes.loglog()
    axes.set_xticks(counts, [f"{count:,}" for count in counts], minor=False)
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    threads = f"{result['threads']} thread{'s' * (result['threads'] > 1)}"
    axes.set_title(f"{result['env_id']}, {threads}")
    axes.set(xlabel="environments", ylabel="environment steps per second")
