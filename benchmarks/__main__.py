"""The command line: `python -m benchmarks` with the name of one of its commands."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

# `python -m benchmarks` gives this file alone that name: all the others have one name.
from yieldrl.benchmarks import (
    demos,
    evidence,
    gallery,
    learned,
    learning,
    measured,
    peers,
    pictures,
    plot,
    results,
    throughput,
    tuned,
)
from yieldrl.benchmarks.families import FAMILIES
from yieldrl.benchmarks.parser import parse

Benchmark = Callable[..., dict[str, Any]]
Report = Callable[[dict[str, Any]], str]
MAKERS = {"demos": demos.train, "gallery": gallery.shoot}


def main(arguments: Sequence[str]) -> None:
    """Run a command and print its result.

    Raises:
        SystemExit: With code 1 if one of several tasks or claims failed.
    """
    options = vars(parse(arguments))
    command = options.pop("command")
    if command == "learning":
        _several(arguments, options, learning.benchmark, learned.report)
    elif command == "evidence":
        _several(arguments, options, evidence.benchmark, evidence.report)
    elif command == "worlds":
        _several(arguments, options, throughput.benchmark, throughput.report, "worlds-")
    elif command == "peers":
        _peers(arguments, options)
    elif command in FAMILIES:
        measure = partial(measured.benchmark, command)
        _several(arguments, options, measure, measured.report, f"{command}-")
    elif command in MAKERS:
        for name in options["names"]:
            for path in MAKERS[command](name, options["seed"]):
                print(path, flush=True)
    elif command == "plot":
        for path in (*plot.draw_all(options["out_folder"]), *tuned.note_all()):
            print(path)
    else:
        for path in pictures.draw_all():
            print(path)


def _peers(arguments: Sequence[str], options: dict[str, Any]) -> None:
    """Workloads one after the other; at the end a row for each demand."""
    found: list[dict[str, Any]] = []

    def report(result: dict[str, Any]) -> str:
        found.append(result)
        return peers.report(result)

    try:
        _several(arguments, options, peers.benchmark, report, "peers-")
    finally:
        if len(found) > 1:
            print(peers.brief(found))


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
    """The command that measures the same again, wherever files of its are."""
    where = argparse.ArgumentParser(add_help=False)
    where.add_argument("--out")
    where.add_argument("--out-folder")
    where.add_argument("--venvs")
    _, words = where.parse_known_args(list(arguments))
    return shlex.join(["python", "-m", "benchmarks", *words])


if __name__ == "__main__":
    main(sys.argv[1:])
