"""Speed: yieldrl and Stable-Baselines3 in turn, each run in a fresh process.

Runs alternate (A B A B ...), because what else a machine does changes by the minute:
the ratio within a pair travels, absolute figures do not.

A run is timed between two marks, the first step at which `warm_up` environment steps
were taken and the first at which `steps` were. Both lie at the same place of the
schedule, so that between them there are whole rounds of collecting and updating, and
neither imports, construction, lazy initialisation nor compilation. The time of the
whole run, from the first step to the last update, is given besides.
"""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import isolated, results
from .sides import Run
from .workloads import WORKLOADS, Workload

SIDES = ("yieldrl", "sb3")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the command line may choose."""

    runs: int = 5
    """Pairs of runs a workload."""

    steps: int | None = None
    """Environment steps of every run, instead of the workload's own."""

    threads: int = 1
    """CPU threads, for both sides."""

    speed: str = "auto"
    """Of yieldrl's config; Stable-Baselines3 has no such choice."""


class Stopwatch:
    """Takes the wall and CPU time when a count first reaches each of some marks.

    Args:
        marks: Counts of environment steps, ascending.

    Attributes:
        times: `(wall, cpu)` seconds at every mark passed so far.
    """

    def __init__(self, *marks: int) -> None:
        self._waiting = list(marks)
        self.times: list[tuple[float, float]] = []

    def __call__(self, step: int) -> None:
        """Hear that `step` environment steps were taken."""
        while self._waiting and step >= self._waiting[0]:
            self._waiting.pop(0)
            self.times.append((time.perf_counter(), time.process_time()))


def measure(name: str, side: str, run: dict[str, Any]) -> dict[str, float]:
    """Train once, in this process.

    Args:
        name: Key of `WORKLOADS`.
        side: "yieldrl" or "sb3".
        run: The fields of a `Run`.

    Returns:
        Steps per second of wall and of CPU time between the marks, the seconds of the
        whole run, and the gradient steps that it took.
    """
    import torch

    workload, settled = WORKLOADS[name], Run(**run)
    torch.set_num_threads(settled.threads)
    build = workload.yieldrl_side if side == "yieldrl" else workload.sb3_side
    train = build(workload.settings, settled)
    watch = Stopwatch(0, workload.warm_up, settled.steps)
    watch(0)
    updates = train(watch)
    (begin, _), (wall, cpu), (wall_end, cpu_end) = watch.times
    counted = settled.steps - workload.warm_up
    return {
        "steps_per_second": counted / (wall_end - wall),
        "steps_per_cpu_second": counted / (cpu_end - cpu),
        "whole_run_seconds": time.perf_counter() - begin,
        "updates": updates,
    }


def whole_rounds(workload: Workload, steps: int | None) -> int:
    """`steps` (by default the workload's) rounded up to whole rounds.

    Raises:
        ValueError: If nothing remains after the warm-up.
    """
    steps = workload.steps if steps is None else steps
    rounded = -(-steps // workload.period) * workload.period
    if rounded <= workload.warm_up:
        raise ValueError(
            f"--steps {steps}: {workload.title} warms up for {workload.warm_up} steps;"
            " choose more"
        )
    return rounded


def compare(name: str, options: Options) -> dict[str, Any]:
    """Run a workload's pairs, seeds 1 to `runs`, and sum them up."""
    workload = WORKLOADS[name]
    steps = whole_rounds(workload, options.steps)
    threads, speed = options.threads, options.speed
    pairs: list[dict[str, Any]] = []
    for seed in range(1, options.runs + 1):
        run = Run(steps=steps, seed=seed, threads=threads, speed=speed)
        pair: dict[str, Any] = {"seed": seed}
        for side in SIDES:
            pair[side] = isolated.call(
                measure, threads, name=name, side=side, run=dataclasses.asdict(run)
            )
        pairs.append(pair)
        print(f"{name}, pair {seed}: {ratios(pairs)[-1]:.2f} times", flush=True)
    return {
        "title": workload.title,
        "settings": workload.settings,
        "steps": steps,
        "warm_up": workload.warm_up,
        "pairs": pairs,
        "summary": summarize(pairs),
    }


def ratios(
    pairs: Sequence[dict[str, Any]], measured: str = "steps_per_second"
) -> list[float]:
    """How many times faster than Stable-Baselines3, pair by pair."""
    return [pair["yieldrl"][measured] / pair["sb3"][measured] for pair in pairs]


def summarize(pairs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Medians of both sides, and median, least and greatest ratio of the pairs."""
    of_pairs = ratios(pairs)
    summary: dict[str, Any] = {
        "ratio": statistics.median(of_pairs),
        "ratio_min": min(of_pairs),
        "ratio_max": max(of_pairs),
        "cpu_time_ratio": statistics.median(ratios(pairs, "steps_per_cpu_second")),
    }
    for side in SIDES:
        for measured in pairs[0][side]:
            values = [pair[side][measured] for pair in pairs]
            summary[f"{side}_{measured}"] = statistics.median(values)
    return summary


def report(result: dict[str, Any]) -> str:
    """A speed result as a table and its circumstances."""
    header = ["workload", "yieldrl steps/s", "SB3 steps/s", "ratio (min to max)"]
    header += ["in CPU time", "whole run, s", "updates"]
    rows: list[list[str]] = []
    for name, measured in result["workloads"].items():
        of = measured["summary"]
        row = [f"{name}: {measured['title']}"]
        row += [f"{of[f'{side}_steps_per_second']:,.0f}" for side in SIDES]
        row.append(
            f"{of['ratio']:.2f} ({of['ratio_min']:.2f} to {of['ratio_max']:.2f})"
        )
        row.append(f"{of['cpu_time_ratio']:.2f}")
        row.append(" / ".join(f"{of[f'{s}_whole_run_seconds']:.1f}" for s in SIDES))
        row.append(" / ".join(f"{of[f'{side}_updates']:.0f}" for side in SIDES))
        rows.append(row)
    options = f"threads {result['threads']}, speed {result['speed']}"
    return f"{results.table(header, rows)}\n\n{options}; {results.footer(result)}"


def benchmark(names: Sequence[str], options: Options, command: str) -> dict[str, Any]:
    """Compare both sides on the named workloads (all if none is named)."""
    result = results.circumstances("speed", command, range(1, options.runs + 1))
    result |= {"threads": options.threads, "speed": options.speed}
    result["workloads"] = {name: compare(name, options) for name in names or WORKLOADS}
    return result
