"""The command line: `python -m benchmarks` with the name of one of its commands."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

# `python -m benchmarks` gives this file alone that name: all the others have one name.
from yieldrl.benchmarks import (
    evidence,
    learned,
    learning,
    pictures,
    plot,
    results,
    speed,
    throughput,
    tuned,
)
from yieldrl.benchmarks.claims import CLAIMS
from yieldrl.benchmarks.contests import CONTESTS
from yieldrl.benchmarks.tasks import TASKS
from yieldrl.benchmarks.workloads import WORKLOADS

KNOWN: dict[str, Collection[str]] = {
    "speed": WORKLOADS,
    "learning": TASKS,
    "evidence": CLAIMS,
    "worlds": CONTESTS,
}
FIGURES = results.ROOT / ".cache" / "plots"
Benchmark = Callable[..., dict[str, Any]]
Report = Callable[[dict[str, Any]], str]


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read a command line; without a command it is `speed`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    commands = parser.add_subparsers(dest="command", required=True)

    fast = commands.add_parser("speed", help="yieldrl beside Stable-Baselines3")
    titles = "; ".join(f"{name} = {of.title}" for name, of in WORKLOADS.items())
    fast.add_argument("names", nargs="*", metavar="WORKLOAD", help=titles)
    fast.add_argument("--runs", type=_count, default=5, help="pairs of runs (5)")
    fast.add_argument("--steps", type=_count, help="environment steps of every run")
    fast.add_argument("--threads", type=_count, default=1, help="CPU threads (1)")
    fast.add_argument("--compile", action="store_true", help="compile our update")

    learn = commands.add_parser("learning", help="train seeds of tasks, and judge them")
    learn.add_argument("names", nargs="+", metavar="TASK", help=_listed(TASKS))
    learn.add_argument("--seeds", type=_count, default=10, help="how many (10)")
    learn.add_argument("--episodes", type=_count, default=20, help="to evaluate (20)")
    learn.add_argument("--jobs", type=_count, default=2, help="seeds at a time (2)")
    sides = "who trains: yieldrl (the default), the task's reference, or both"
    learn.add_argument("--side", choices=learning.SIDES, default="yieldrl", help=sides)

    prove = commands.add_parser("evidence", help="measure claims, and judge them")
    prove.add_argument("names", nargs="+", metavar="CLAIM", help=_listed(CLAIMS))
    prove.add_argument("--seeds", type=_count, default=5, help="how many (5)")
    prove.add_argument("--jobs", type=_count, default=2, help="seeds at a time (2)")

    step = commands.add_parser("worlds", help="steps per second of worlds against N")
    _add_worlds(step)

    for command in (fast, learn, prove, step):
        command.add_argument("--out", help="result file, benchmarks/results/NAME.json")
    for command in (learn, prove, step):
        file = "worlds-NAME.json" if command is step else "NAME.json"
        command.add_argument("--out-folder", help=f"folder of a {file} for each")
    draw = commands.add_parser("plot", help="draw and note benchmarks/results")
    draw.add_argument("--out-folder", type=Path, default=FIGURES, help="of the SVGs")
    commands.add_parser("pictures", help="draw the worlds of docs/worlds.md")
    parsed = parser.parse_args(list(arguments) or ["speed"])
    if parsed.command in KNOWN:
        _check_names(parser, parsed, KNOWN[parsed.command])
    return parsed


def _add_worlds(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", metavar="WORLD", help=_listed(CONTESTS))
    sizes = throughput.SIZES
    several = f"numbers of environments ({sizes[0]} {sizes[1]} ... {sizes[-1]})"
    parser.add_argument(
        "--num-envs", nargs="+", type=_count, default=sizes, metavar="N", help=several
    )
    parser.add_argument("--runs", type=_count, default=5, help="of every side (5)")
    parser.add_argument("--threads", type=_count, default=1, help="CPU threads (1)")
    parser.add_argument("--device", default="cpu", help="of worlds of tensors (cpu)")
    seconds = "of one run of one side at one N (0.4)"
    parser.add_argument("--seconds", type=float, default=0.4, help=seconds)


def _check_names(
    parser: argparse.ArgumentParser, parsed: argparse.Namespace, known: Collection[str]
) -> None:
    """Refuse unknown names; `all` and nothing stand for every one."""
    unknown = set(parsed.names) - {*known, "all"}
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; choose {_listed(known)}")
    if not parsed.names or "all" in parsed.names:
        parsed.names = list(known)
    if len(parsed.names) > 1 and parsed.command != "speed" and parsed.out is not None:
        parser.error("--out is one file: for several, choose --out-folder")


def main(arguments: Sequence[str]) -> None:
    """Run a command and print its result.

    Raises:
        SystemExit: With code 1 if one of several tasks or claims failed.
    """
    options = vars(parse(arguments))
    command = options.pop("command")
    if command == "speed":
        _speed(options, _typed(arguments))
    elif command == "learning":
        _several(arguments, options, learning.benchmark, learned.report)
    elif command == "evidence":
        _several(arguments, options, evidence.benchmark, evidence.report)
    elif command == "worlds":
        _several(arguments, options, throughput.benchmark, throughput.report, "worlds-")
    elif command == "plot":
        for path in (*plot.draw_all(options["out_folder"]), *tuned.note_all()):
            print(path)
    else:
        for path in pictures.draw_all():
            print(path)


def _speed(options: dict[str, Any], typed: str) -> None:
    names, out = options.pop("names"), options.pop("out")
    result = speed.benchmark(names, speed.Options(**options), typed)
    print(f"\n{speed.report(result)}")
    if out is not None:
        print(f"written to {results.save(result, out)}")


def _several(
    arguments: Sequence[str],
    options: dict[str, Any],
    run: Benchmark,
    report: Report,
    prefix: str = "",
) -> None:
    """Tasks or claims one after the other; one that fails does not stop the rest."""
    names, out = options.pop("names"), options.pop("out")
    folder, failed = options.pop("out_folder"), False
    for name in names:
        own = Path(folder, f"{prefix}{name}.json") if folder else None
        path = own or (Path(out) if out else None)
        others = {"all", *names} - {name}
        words = [word for word in arguments if word not in others]
        benchmark = partial(run, name, _typed(_with_name(words, name)), **options)
        if path is not None and path.exists() and run is learning.benchmark:
            benchmark = partial(benchmark, earlier=results.load(path))
        try:
            result = benchmark()
        except (RuntimeError, ValueError) as reason:
            print(f"{name}: {reason}", file=sys.stderr, flush=True)
            failed = True
            continue
        print(f"\n{report(result)}")
        if path is not None:
            print(f"written to {results.save(result, path)}\n", flush=True)
    if failed:
        raise SystemExit(1)


def _with_name(words: list[str], name: str) -> list[str]:
    """The words with the name after the command, where `all` stood for it."""
    return words if name in words else [words[0], name, *words[1:]]


def _typed(arguments: Sequence[str]) -> str:
    """The command that measures the same again, wherever its result was written."""
    where = argparse.ArgumentParser(add_help=False)
    where.add_argument("--out")
    where.add_argument("--out-folder")
    _, words = where.parse_known_args(list(arguments))
    return shlex.join(["python", "-m", "benchmarks", *words])


def _listed(known: Collection[str]) -> str:
    return f"{', '.join(known)}, or all"


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}: choose a number of at least 1")
    return value


if __name__ == "__main__":
    main(sys.argv[1:])
