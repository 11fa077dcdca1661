"""The command line: `python -m benchmarks` with the name of one of its commands."""

import argparse
import shlex
import sys
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

# `python -m benchmarks` gives this file alone that name: all the others have one name.
from yieldrl.benchmarks import gpu, learning, results, site
from yieldrl.benchmarks.env_throughput import measuring as worlds
from yieldrl.benchmarks.peers import measuring as peers
from yieldrl.benchmarks.peers.workloads import PEERS, WORKLOADS
from yieldrl.benchmarks.style import save_figure
from yieldrl.benchmarks.tasks import AGENTS, FIGURES, TASKS

NAMES: dict[str, Collection[str]] = {
    "learning": TASKS,
    "worlds": worlds.WORLDS,
    "peers": WORKLOADS,
    "demos": site.DEMOS,
    "gallery": [*site.FILMS, "libero"],
    "agents": AGENTS,
}
MEASURED: dict[str, Any] = {"learning": learning, "worlds": worlds, "peers": peers}


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read a command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("plot", help="draw docs/results again")
    add = commands.add_parser("gpu", description=gpu.__doc__).add_argument
    add("--device", default="cuda", help="what is measured (cuda)")
    add("--seconds", type=float, default=5.0, help="of each training (5)")
    add("--most", type=int, default=gpu.WORLDS[-1], help="environments (65536)")
    add("--keep", action="store_true", help="write into docs/results")
    adds: dict[str, Any] = {}
    for name, known in NAMES.items():
        add = adds[name] = commands.add_parser(name).add_argument
        listed = f"{', '.join(known)}, or all"
        add("names", nargs="+", choices=[*known, "all"], metavar="NAME", help=listed)
        if name in MEASURED:
            add("--keep", action="store_true", help="write into docs/results")
    for name in ("demos", "gallery", "agents"):
        adds[name]("--seed", type=int, help="of training (its own)")
    add = adds["learning"]
    add("--seeds", type=int, default=10, help="how many (10)")
    add("--episodes", type=int, default=20, help="to evaluate (20)")
    add("--jobs", type=int, default=2, help="processes at a time (2)")
    add("--side", choices=("yieldrl", "both"), default="yieldrl", help="what trains")
    add = adds["worlds"]
    add("--num-envs", type=int, nargs="+", default=worlds.SIZES, metavar="N")
    add("--threads", type=int, default=1, help="CPU threads (1)")
    add = adds["peers"]
    add("--peers", nargs="+", choices=PEERS, default=[], help="all that can by default")
    add("--runs", type=int, help="rounds (5; 1 with --quick)")
    add("--quick", action="store_true", help="fewer steps, and nothing is compiled")
    parsed = parser.parse_args(arguments)
    if "all" in getattr(parsed, "names", ()):
        parsed.names = [*NAMES[parsed.command]]
    return parsed


def main(arguments: Sequence[str]) -> None:
    """Run a command and print its result."""
    options = vars(parse(arguments))
    command = options.pop("command")
    if command == "gpu":
        gpu.run(**options)
    elif command in MEASURED:
        measure(command, **options)
    elif command == "plot":
        print(*draw_all(), sep="\n")
    else:
        makers = {"demos": site.train_demo, "gallery": site.shoot_film}
        make = makers.get(command, site.make_agent)
        for name in options["names"]:
            for path in make(name, options["seed"]):
                print(path, flush=True)


def measure(kind: str, names: Sequence[str], *, keep: bool, **options: Any) -> None:
    """Names one after the other."""
    given = [word for word in sys.argv[2:] if word not in {*names, "all", "--keep"}]
    for name in names:
        command = shlex.join(["python", "-m", "benchmarks", kind, name, *given])
        result = MEASURED[kind].benchmark(name, command, **options)
        stem = name if kind == "learning" else f"{kind}-{name}"
        shown = MEASURED[kind].entries(stem, result)
        for of in (shown.get("summary"), shown.get("table")):
            if of is not None:
                print(results.table(**of), "\n")
        print(shown.get("says", ""), results.footer(result), sep="\n", flush=True)
        if keep:
            keep_and_draw(stem, result)


def keep_and_draw(name: str, result: dict[str, Any]) -> list[Path]:
    """Write a result with what pages show of it, and its figure, if it has one."""
    of, path = MEASURED[result["kind"]], results.FOLDER / f"{name}.json"
    made = [results.save(result | of.entries(name, result), path)]
    if hasattr(of, "draw"):
        fill = partial(of.draw, result=result)
        made.append(save_figure(fill, path.with_suffix(".svg")))
    return made


def draw_all() -> Iterator[Path]:
    """Write again what pages show of all that this command line measures, and draw it,
    and entries of `FIGURES` on the same axes. Figures of scripts: their `--again`."""
    found = {p.stem: results.load(p) for p in sorted(results.FOLDER.glob("*.json"))}
    for name, result in found.items():
        if result["kind"] in MEASURED:
            yield from keep_and_draw(name, result)
    for name, tasks in FIGURES.items():
        fill = partial(learning.draw_several, compared=[found[task] for task in tasks])
        yield save_figure(fill, results.FOLDER / f"{name}.svg")


if __name__ == "__main__":
    main(sys.argv[1:])
