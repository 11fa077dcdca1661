"""The commands of `python -m benchmarks`, and their options."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from . import learning, peers, results
from .claim import Options
from .demos import DEMOS
from .env_throughput import measuring as throughput
from .env_throughput.contests import CONTESTS
from .gallery import FILMS
from .registry import CLAIMS
from .tasks import TASKS

FIGURES = results.ROOT / ".cache" / "plots"


class Command(NamedTuple):
    """A command that takes names: of what it measures, or of what it makes."""

    help: str
    names: Collection[str]
    metavar: str
    prefix: str = ""
    """Of the files of its results."""


COMMANDS = {
    "learning": Command("train seeds of tasks, and judge them", TASKS, "TASK"),
    "evidence": Command("measure claims, and judge them", CLAIMS["evidence"], "CLAIM"),
    "worlds": Command(
        "steps per second of worlds against N", CONTESTS, "WORLD", "worlds-"
    ),
    "peers": Command(
        "yieldrl beside other libraries", peers.WORKLOADS, "WORKLOAD", "peers-"
    ),
}
COMMANDS |= {
    kind: Command(help_, CLAIMS[kind], "CLAIM", f"{kind}-")
    for kind, help_ in {
        "collecting": "collectors in the background",
        "vla": "vision-language-action policies",
        "adaptation": "worlds whose parameters are hidden",
        "time": "where the time of training goes",
        "comparing": "an algorithm beside its parent",
        "imports": "how long importing takes",
    }.items()
}
MADE = {
    "demos": Command("train the policies of docs/watch.md", DEMOS, "DEMO"),
    "gallery": Command("train and film for docs/gallery.md", FILMS, "FILM"),
}


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read a command line; without a command it is `peers --quick`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (help_, names, metavar, prefix) in (COMMANDS | MADE).items():
        command = commands.add_parser(name, help=help_)
        words = _workloads() if name == "peers" else _listed(names)
        count = "*" if name == "peers" or len(names) == 1 else "+"
        command.add_argument("names", nargs=count, metavar=metavar, help=words)
        options = {"learning": _add_learning, "worlds": _add_worlds}
        options |= {"peers": _add_peers, "demos": _add_demos, "gallery": _add_gallery}
        options.get(name, _add_claims)(command)
        if name == "collecting":
            minutes = f"of the soak ({Options().minutes:g})"
            command.add_argument("--minutes", type=float, default=20.0, help=minutes)
        if name in COMMANDS:
            file = "result file, benchmarks/results/NAME.json"
            command.add_argument("--out", help=file)
            folder = f"folder of a {prefix}NAME.json for each"
            command.add_argument("--out-folder", help=folder)
    draw = commands.add_parser("plot", help="draw and note benchmarks/results")
    draw.add_argument("--out-folder", type=Path, default=FIGURES, help="of the SVGs")
    commands.add_parser("pictures", help="draw the worlds of docs/worlds.md")
    parsed = parser.parse_args(list(arguments) or ["peers", "--quick"])
    if parsed.command in COMMANDS | MADE:
        _check_names(parser, parsed, (COMMANDS | MADE)[parsed.command].names)
    return parsed


def _add_learning(parser: argparse.ArgumentParser) -> None:
    _add_counts(parser, seeds=10, episodes=20, jobs=2)
    sides = "what trains: yieldrl (the default), the task's reference, or both"
    parser.add_argument("--side", choices=learning.SIDES, default="yieldrl", help=sides)


def _add_claims(parser: argparse.ArgumentParser) -> None:
    _add_counts(parser, seeds=Options().seeds, jobs=Options().jobs)


def _add_counts(parser: argparse.ArgumentParser, **defaults: int) -> None:
    words = {"seeds": "how many, each with a pair where two are timed"}
    words |= {"episodes": "to evaluate", "jobs": "at a time, where nothing is timed"}
    for name, default in defaults.items():
        text = f"{words[name]} ({default})"
        parser.add_argument(f"--{name}", type=_count, default=default, help=text)


def _add_worlds(parser: argparse.ArgumentParser) -> None:
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


def _add_peers(parser: argparse.ArgumentParser) -> None:
    known = ", ".join(peers.PEERS)
    words = f"which libraries: {known} (all that can run a workload)"
    parser.add_argument(
        "--peers",
        nargs="+",
        choices=peers.PEERS,
        default=(),
        metavar="PEER",
        help=words,
    )
    parser.add_argument("--runs", type=_count, help="rounds (5; 1 with --quick)")
    parser.add_argument("--steps", type=_count, help="environment steps of every run")
    folder = f"of virtual environments ({peers.FOLDER}, or .cache/peers)"
    parser.add_argument("--venvs", type=Path, metavar="FOLDER", help=folder)
    short = "a short table in ten minutes: fewer steps, and only peers of a demand"
    parser.add_argument("--quick", action="store_true", help=short)


def _add_demos(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=_count, help="of training (the demo's own)")


def _add_gallery(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=_count, default=1, help="of training (1)")


def _check_names(
    parser: argparse.ArgumentParser, parsed: argparse.Namespace, known: Collection[str]
) -> None:
    """Refuse unknown names; `all` and nothing stand for every one."""
    unknown = set(parsed.names) - {*known, "all"}
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; choose {_listed(known)}")
    if not parsed.names or "all" in parsed.names:
        parsed.names = list(known)
    one_file = getattr(parsed, "out", None) is not None
    if len(parsed.names) > 1 and one_file:
        parser.error("--out is one file: for several, choose --out-folder")


def _listed(known: Collection[str]) -> str:
    return f"{', '.join(known)}, or all"


def _workloads() -> str:
    return "; ".join(
        f"{name} = {of.title}, about {of.minutes} min"
        for name, of in peers.WORKLOADS.items()
    )


def _count(text: str) -> Any:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}: choose a number of at least 1")
    return value
