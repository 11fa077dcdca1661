"""The command line: `python -m benchmarks` with the name of one of its commands."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# `python -m benchmarks` gives this file alone that name: all the others have one name.
from yieldrl.benchmarks import (
    demos,
    gallery,
    learning,
    page,
    peers,
    pictures,
    plot,
    results,
    tuned,
)
from yieldrl.benchmarks.env_throughput import measuring
from yieldrl.benchmarks.parser import parse

# what measures a name, and what shows the result as title, table and notes
MEASURED: dict[str, Any] = {"learning": learning, "worlds": measuring, "peers": peers}


def main(arguments: Sequence[str]) -> None:
    """Run a command and print its result.

    Raises:
        SystemExit: With code 1 if one of several names failed.
    """
    options = vars(parse(arguments))
    command = options.pop("command")
    if command in MEASURED:
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
    """Names one after the other; one that fails does not stop the rest.

    For peers there is a row for each demand at the end.
    """
    names, out = options.pop("names"), options.pop("out")
    folder, prefix = options.pop("out_folder"), "" if kind == "learning" else f"{kind}-"
    found: list[dict[str, Any]] = []
    if not (out or folder):
        hint = "printed, not kept: --out FILE or --out-folder FOLDER keeps the result"
        print(hint, file=sys.stderr, flush=True)
    for name in names:
        path = folder / f"{prefix}{name}.json" if folder else out
        others = {"all", *names} - {name}
        words = [word for word in arguments if word not in others]
        try:
            earlier = _earlier(path) if kind == "learning" else {}
            if name not in words:  # `all` stood for it
                words.insert(1, name)
            command = _typed(words)
            result = MEASURED[kind].benchmark(name, command, **options, **earlier)
        except (RuntimeError, ValueError) as reason:
            print(f"{name}: {reason}", file=sys.stderr, flush=True)
            continue
        found.append(result)
        title, table, notes = MEASURED[kind].shown(result)
        print(f"\n{title}\n\n{results.table(*table)}\n")
        print(*notes, results.footer(result), sep="\n")
        if path is not None:
            whole = result | page.entries(path.stem, result)
            print(f"written to {results.save(whole, path)}\n", flush=True)
            plot.draw_result(whole, path.with_suffix(".svg"))
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


def _typed(arguments: Sequence[str]) -> str:
    """The command that measures the same again, wherever its files are."""
    where = argparse.ArgumentParser(add_help=False)
    for option in ("--out", "--out-folder", "--venvs"):
        where.add_argument(option)
    _, words = where.parse_known_args(list(arguments))
    return shlex.join(["python", "-m", "benchmarks", *words])


if __name__ == "__main__":
    main(sys.argv[1:])
