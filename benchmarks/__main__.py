"""The command line: `python -m benchmarks [speed | learning | plot]`."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from typing import Any

from . import learning, plot, results, speed
from .workloads import WORKLOADS


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read a command line; without a command it is `speed`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    commands = parser.add_subparsers(dest="command", required=True)

    fast = commands.add_parser("speed", help="yieldrl beside Stable-Baselines3")
    fast.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=_workloads())
    fast.add_argument("--runs", type=_count, default=5, help="pairs of runs (5)")
    fast.add_argument("--steps", type=_count, help="environment steps of every run")
    fast.add_argument("--threads", type=_count, default=1, help="CPU threads (1)")
    fast.add_argument("--compile", action="store_true", help="compile our update")
    fast.add_argument("--out", help="result file, e.g. benchmarks/results/speed.json")

    learn = commands.add_parser("learning", help="train seeds with the default config")
    learn.add_argument("task", choices=learning.TASKS)
    learn.add_argument("--seeds", type=_count, default=10, help="how many (10)")
    learn.add_argument("--episodes", type=_count, default=20, help="to evaluate (20)")
    learn.add_argument("--jobs", type=_count, default=2, help="seeds at a time (2)")
    learn.add_argument("--out", help="result file, e.g. benchmarks/results/NAME.json")

    commands.add_parser("plot", help="draw the curves of benchmarks/results/*.json")
    parsed = parser.parse_args(list(arguments) or ["speed"])
    unknown = set(getattr(parsed, "workloads", ())) - WORKLOADS.keys()
    if unknown:
        parser.error(f"unknown workloads {sorted(unknown)}: choose {list(WORKLOADS)}")
    return parsed


def main(arguments: Sequence[str]) -> None:
    """Run a command and print its result."""
    options = vars(parse(arguments))
    typed = shlex.join(["python", "-m", "benchmarks", *arguments])
    command, out = options.pop("command"), options.pop("out", None)
    if command == "plot":
        for path in plot.draw_all():
            print(path)
        return
    result: dict[str, Any]
    if command == "speed":
        names = options.pop("workloads")
        result = speed.benchmark(names, speed.Options(**options), typed)
        print(f"\n{speed.report(result)}")
    else:
        result = learning.benchmark(options.pop("task"), typed, **options)
        print(f"\n{learning.report(result)}")
    if out is not None:
        print(f"written to {results.save(result, out)}")


def _workloads() -> str:
    return "; ".join(f"{name} = {w.title}" for name, w in WORKLOADS.items())


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}: choose a number of at least 1")
    return value


if __name__ == "__main__":
    main(sys.argv[1:])
