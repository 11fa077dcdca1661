"""Steps per second of worlds against the number of environments, beside others'.

Every N has a fresh process, which may use as many cores as threads are asked for. All
sides are built in it, called until they are warm, and then timed in turn (A B C A B C
...), because what else a machine does changes by the minute.
"""

import dataclasses
import gc
import math
import os
import statistics
import time
from collections.abc import Sequence
from typing import Any

import torch

from yieldrl.benchmarks import results, subprocesses

from .batches import SEED, Batch, Setting
from .contests import CONTESTS, Contest

SIZES = tuple(4**k for k in range(9))  # 1 to 65 536


def benchmark(
    name: str,
    command: str,
    *,
    num_envs: Sequence[int] = SIZES,
    runs: int = 5,
    threads: int = 1,
    device: str = "cpu",
    seconds: float = 0.4,
) -> dict[str, Any]:
    """Measure all sides of a world at every N, and judge what is demanded.

    Raises:
        ValueError: If the world is for GPUs and the device is none, or not there.
    """
    contest = CONTESTS[name]
    gpu = _gpu(name, contest, device)
    result = results.circumstances("worlds", command, [SEED])
    if gpu:
        result["hardware"]["gpu"] = gpu
    points: list[dict[str, Any]] = []
    for count in sorted(num_envs):
        on = {"num_envs": count, "threads": threads, "device": device}
        how = {"name": name, "setting": on, "runs": runs, "seconds": seconds}
        points.append(subprocesses.call(measure, threads, **how))
        print(f"{name}, {count}: {_speeds(points[-1])}", flush=True)
    took_part = {side for point in points for side in point["sides"]}
    return result | {
        "world": name,
        "env_id": contest.env_id,
        "threads": threads,
        "device": device,
        "runs": runs,
        "seconds": seconds,
        "sides": [side for side in contest.sides if side in took_part],
        "left_out": contest.left_out(),
        "points": points,
        "demands": [demand.judge(points, threads) for demand in contest.demands],
    }


def measure(
    name: str, setting: dict[str, Any], runs: int, seconds: float
) -> dict[str, Any]:
    """Measure all sides at one N, in this process, which is changed by that."""
    on = Setting(**setting)
    if hasattr(os, "sched_setaffinity"):  # Linux alone has it
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[: on.threads])
    torch.set_num_threads(on.threads)
    return compare(CONTESTS[name], on, runs, seconds)


def compare(contest: Contest, on: Setting, runs: int, seconds: float) -> dict[str, Any]:
    """Time those sides that take part at this N in turn."""
    numbers = {
        title: side.fixed or on.num_envs
        for title, side in contest.sides.items()
        if side.installed and on.num_envs <= (side.most or on.num_envs)
    }
    batches = {
        title: contest.sides[title].build(dataclasses.replace(on, num_envs=number))
        for title, number in numbers.items()
    }
    calls = {title: warm_up(batch, seconds) for title, batch in batches.items()}
    gc.collect()
    gc.freeze()  # thousands of environments would be looked through again and again
    speeds: dict[str, list[float]] = {title: [] for title in batches}
    for _ in range(runs):
        for title, batch in batches.items():
            taken = timed(batch, calls[title])
            steps = calls[title] * batch.steps * numbers[title]
            speeds[title].append(steps / taken)
    sides = {
        title: {
            "steps_per_second": statistics.median(speeds[title]),
            "runs": speeds[title],
            "calls": calls[title],
            "bytes_per_env": batch.bytes_per_env,
        }
        for title, batch in batches.items()
    }
    return {"num_envs": on.num_envs, "sides": sides}


def warm_up(batch: Batch, seconds: float) -> int:
    """Call a batch until it is warm; how many calls take that many seconds."""
    calls, taken = 1, 0.0
    while taken < seconds / 4:
        calls *= 2
        taken = timed(batch, calls)
    return max(1, math.ceil(calls * seconds / taken))


def timed(batch: Batch, calls: int) -> float:
    """Seconds of that many calls, until all is computed."""
    step = batch.step
    batch.wait()
    begin = time.perf_counter()
    for _ in range(calls):
        step()
    batch.wait()
    return time.perf_counter() - begin


def shown(result: dict[str, Any]) -> results.Shown:
    """A result as title, table in million steps per second, and notes."""
    rows: list[list[str]] = []
    for point in result["points"]:
        found = [point["sides"].get(side) for side in result["sides"]]
        speeds = [f"{of['steps_per_second'] / 1e6:.4g}" if of else "" for of in found]
        rows.append([f"{point['num_envs']}", *speeds])
    notes = [
        f"bytes per environment, {side}: {of['bytes_per_env']:,.0f}"
        for side, of in result["points"][-1]["sides"].items()
        if of["bytes_per_env"] is not None
    ]
    notes += [f"left out, {side}: {why}" for side, why in result["left_out"].items()]
    notes += [f"{verdict(of)}: {of['demand']}" for of in result["demands"]]
    title = f"{result['world']}, million steps per second, {where(result)}"
    return title, (["N", *result["sides"]], rows), notes


def verdict(judged: dict[str, Any]) -> str:
    """A demand's ratio, and whether that is enough."""
    if judged["holds"] is None:
        return "not measured here"
    word = "holds" if judged["holds"] else "does not hold"
    return f"{judged['ratio']:.3g} times, {word}"


def where(result: dict[str, Any]) -> str:
    many = "thread" if result["threads"] == 1 else "threads"
    gpu = result["hardware"].get("gpu")
    return f"{result['threads']} {many}{f', {gpu}' if gpu else ''}"


def _gpu(name: str, contest: Contest, device: str) -> str | None:
    if not device.startswith("cuda"):
        if contest.cuda:
            raise ValueError(
                f"{name} needs a GPU: choose --device cuda on such a machine"
            )
        return None
    if not torch.cuda.is_available():
        raise ValueError(
            f"--device {device}: PyTorch finds no such GPU on this machine"
        )
    return torch.cuda.get_device_name(device)


def _speeds(point: dict[str, Any]) -> str:
    sides = point["sides"].items()
    return "; ".join(f"{side} {of['steps_per_second']:,.0f}" for side, of in sides)
