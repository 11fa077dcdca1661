"""The command line: `python -m benchmarks` with the name of one of its commands."""

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
    gallery,
    learning,
    peers,
    pictures,
    plot,
    report,
    results,
    tuned,
)
from yieldrl.benchmarks.env_throughput import measuring as throughput
from yieldrl.benchmarks.parser import COMMANDS, parse

Benchmark = Callable[..., dict[str, Any]]


def main(arguments: Sequence[str]) -> None:
    """Run a command and print its result.

    Raises:
        SystemExit: With code 1 if one of several tasks or claims failed.
    """
    options = vars(parse(arguments))
    command = options.pop("command")
    if command in COMMANDS:
        _measure(arguments, command, options)
        return
    if command == "plot":
        made = (*plot.draw_all(options["out_folder"]), *tuned.note_all())
    elif command == "pictures":
        made = pictures.draw_all()
    else:
        make = {"demos": demos.train, "gallery": gallery.shoot}[command]
        made = (p for name in options["names"] for p in make(name, options["seed"]))
    for path in made:
        print(path, flush=True)


def _measure(arguments: Sequence[str], kind: str, options: dict[str, Any]) -> None:
    """Tasks or claims one after the other; one that fails does not stop the rest.

    For peers there is a row for each demand at the end.
    """
    names, out = options.pop("names"), options.pop("out")
    folder, prefix = options.pop("out_folder"), COMMANDS[kind].prefix
    found: list[dict[str, Any]] = []
    for name in names:
        own = Path(folder, f"{prefix}{name}.json") if folder else None
        path = own or (Path(out) if out else None)
        others = {"all", *names} - {name}
        words = [word for word in arguments if word not in others]
        try:
            earlier = _earlier(path) if kind == "learning" else {}
            command = _typed(_with_name(words, name))
            result = _benchmark(kind)(name, command, **options, **earlier)
        except (RuntimeError, ValueError) as reason:
            print(f"{name}: {reason}", file=sys.stderr, flush=True)
            continue
        found.append(result)
        print(f"\n{report.report(result)}")
        if path is not None:
            print(f"written to {results.save(result, path)}\n", flush=True)
    if kind == "peers" and len(found) > 1:
        print(peers.brief(found))
    if len(found) < len(names):
        raise SystemExit(1)


def _earlier(path: Path | None) -> dict[str, Any]:
    if path is None or not path.exists():
        return {}
    found = results.load(path)
    if found["kind"] != "learning":
        raise ValueError(
            f"{path} holds a result of {found['kind']}: choose another file"
        )
    return {"earlier": found}


def _benchmark(kind: str) -> Benchmark:
    modules = {"learning": learning, "worlds": throughput, "peers": peers}
    if kind in modules:
        return modules[kind].benchmark
    return partial(report.benchmark, kind)


def _with_name(words: list[str], name: str) -> list[str]:
    """The words with the name after the command, where `all` stood for it."""
    return words if name in words else [words[0], name, *words[1:]]


def _typed(arguments: Sequence[str]) -> str:
    where = argparse.ArgumentParser(add_help=False)
    where.add_argument("--out")
    where.add_argument("--out-folder")
    where.add_argument("--venvs")
    _, words = where.parse_known_args(list(arguments))
    return shlex.join(["python", "-m", "benchmarks", *words])


if __name__ == "__main__":
    main(sys.argv[1:])
