"""What `python -m benchmarks` understands: its commands, and their options."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from . import learning, peers, results, throughput
from .claims import CLAIMS
from .contests import CONTESTS
from .demos import DEMOS
from .families import FAMILIES
from .gallery import FILMS
from .tasks import TASKS
from .trials import Options

KNOWN: dict[str, Collection[str]] = {
    "learning": TASKS,
    "evidence": CLAIMS,
    "worlds": CONTESTS,
    "peers": peers.WORKLOADS,
    "demos": DEMOS,
    "gallery": FILMS,
    **FAMILIES,
}
FIGURES = results.ROOT / ".cache" / "plots"


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read a command line; without a command it is `peers --quick`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    commands = parser.add_subparsers(dest="command", required=True)

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

    race = commands.add_parser("peers", help="yieldrl beside other libraries")
    _add_peers(race)

    collect = commands.add_parser("collecting", help="collectors in the background")
    _add_trials(collect, "collecting")
    minutes = f"of the soak ({Options().minutes:g})"
    collect.add_argument("--minutes", type=float, default=20.0, help=minutes)

    speak = commands.add_parser("vla", help="vision-language-action policies")
    _add_trials(speak, "vla")

    adapt = commands.add_parser("adaptation", help="worlds whose parameters are hidden")
    _add_trials(adapt, "adaptation")

    spend = commands.add_parser("time", help="where the time of training goes")
    _add_trials(spend, "time")

    beside = commands.add_parser("comparing", help="an algorithm beside its parent")
    _add_trials(beside, "comparing")

    begin = commands.add_parser("imports", help="how long importing takes")
    _add_trials(begin, "imports")

    trials = (collect, speak, adapt, spend, beside, begin)
    for command in (learn, prove, step, race, *trials):
        command.add_argument("--out", help="result file, benchmarks/results/NAME.json")
    prefixes = {step: "worlds-", collect: "collecting-", speak: "vla-"}
    prefixes |= {adapt: "adaptation-", spend: "time-", beside: "comparing-"}
    prefixes |= {begin: "imports-", race: "peers-"}
    for command in (learn, prove, step, race, *trials):
        prefix = prefixes.get(command, "")
        file = f"folder of a {prefix}NAME.json for each"
        command.add_argument("--out-folder", help=file)
    draw = commands.add_parser("plot", help="draw and note benchmarks/results")
    draw.add_argument("--out-folder", type=Path, default=FIGURES, help="of the SVGs")
    _add_made(commands)
    parsed = parser.parse_args(list(arguments) or ["peers", "--quick"])
    if parsed.command in KNOWN:
        _check_names(parser, parsed, KNOWN[parsed.command])
    return parsed


def _add_made(commands: Any) -> None:
    """What is made for the site."""
    commands.add_parser("pictures", help="draw the worlds of docs/worlds.md")
    play = commands.add_parser("demos", help="train the policies of docs/watch.md")
    play.add_argument("names", nargs="+", metavar="DEMO", help=_listed(DEMOS))
    play.add_argument("--seed", type=_count, help="of training (the demo's own)")
    show = commands.add_parser("gallery", help="train and film for docs/gallery.md")
    show.add_argument("names", nargs="+", metavar="FILM", help=_listed(FILMS))
    show.add_argument("--seed", type=_count, default=1, help="of training (1)")


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


def _add_peers(parser: argparse.ArgumentParser) -> None:
    takes = "; ".join(
        f"{name} = {of.title}, about {of.minutes} min"
        for name, of in peers.WORKLOADS.items()
    )
    parser.add_argument("names", nargs="*", metavar="WORKLOAD", help=takes)
    who = f"who takes part: {', '.join(peers.PEERS)} (all that can run a workload)"
    parser.add_argument(
        "--peers", nargs="+", choices=peers.PEERS, default=(), metavar="PEER", help=who
    )
    parser.add_argument("--runs", type=_count, help="rounds (5; 1 with --quick)")
    parser.add_argument("--steps", type=_count, help="environment steps of every run")
    folder = f"of virtual environments ({peers.FOLDER}, or .cache/peers)"
    parser.add_argument("--venvs", type=Path, metavar="FOLDER", help=folder)
    short = "a short table in ten minutes: fewer steps, and who is to be beaten"
    parser.add_argument("--quick", action="store_true", help=short)


def _add_trials(parser: argparse.ArgumentParser, family: str) -> None:
    known = FAMILIES[family]
    count = "*" if len(known) == 1 else "+"
    parser.add_argument("names", nargs=count, metavar="TRIAL", help=_listed(known))
    how = Options()
    seeds = f"seeds, each with a pair where two are timed ({how.seeds})"
    parser.add_argument("--seeds", type=_count, default=how.seeds, help=seeds)
    jobs = f"at a time, where no processor is timed ({how.jobs})"
    parser.add_argument("--jobs", type=_count, default=how.jobs, help=jobs)


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


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}: choose a number of at least 1")
    return value
