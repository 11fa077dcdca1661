"""The command line of `python -m benchmarks`."""

import argparse
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from . import demos, gallery, learning, results
from .env_throughput.contests import CONTESTS
from .env_throughput.measuring import SIZES
from .evidence import count
from .peers.venvs import PEERS
from .peers.workloads import WORKLOADS
from .tasks import TASKS

NAMES: dict[str, Collection[str]] = {
    "learning": TASKS,
    "worlds": CONTESTS,
    "peers": WORKLOADS,
    "demos": demos.DEMOS,
    "gallery": gallery.FILMS,
}
MEASURED = "learning", "worlds", "peers"  # what a result file can be kept of


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read a command line; without a command it is `peers --quick`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, says: str) -> Any:
        made = commands.add_parser(name, help=says)
        if name in NAMES:
            listed = f"{', '.join(NAMES[name])}, or all"
            count = "*" if name == "peers" else "+"
            made.add_argument("names", nargs=count, metavar="NAME", help=listed)
        if name in MEASURED:
            made.add_argument("--out", type=Path, help="result file")
            made.add_argument("--out-folder", type=Path, help="of a file for each name")
        return made.add_argument

    _measured(command)
    _made(command)
    parsed = parser.parse_args(list(arguments) or ["peers", "--quick"])
    if known := NAMES.get(parsed.command):
        unknown = {*parsed.names} - {*known, "all"}
        if unknown:
            parser.error(f"unknown: {', '.join(sorted(unknown))}; {', '.join(known)}")
        if not parsed.names or "all" in parsed.names:
            parsed.names = list(known)
        if len(parsed.names) > 1 and getattr(parsed, "out", None):
            parser.error("--out is one file: for several, choose --out-folder")
    return parsed


def _measured(command: Callable[[str, str], Any]) -> None:
    add = command("learning", "train seeds of tasks, and judge them")
    add("--seeds", type=count, default=10, help="how many (10)")
    add("--episodes", type=count, default=20, help="to evaluate (20)")
    add("--jobs", type=count, default=2, help="processes at a time (2)")
    add("--side", choices=learning.SIDES, default="yieldrl", help="what trains")

    add = command("worlds", "steps per second of worlds against N")
    add("--num-envs", type=count, nargs="+", default=SIZES, metavar="N")
    add("--runs", type=count, default=5, help="of every side (5)")
    add("--threads", type=count, default=1, help="CPU threads (1)")
    add("--device", default="cpu", help="of worlds of tensors (cpu)")
    add("--seconds", type=float, default=0.4, help="of a run of a side at one N (0.4)")

    add = command("peers", "yieldrl beside other libraries")
    add("--peers", nargs="+", choices=PEERS, default=[], help="all that can by default")
    add("--runs", type=count, help="rounds (5; 1 with --quick)")
    add("--steps", type=count, help="environment steps of every run")
    add("--venvs", type=Path, help="of environments (YIELDRL_PEERS, or .cache/peers)")
    add("--quick", action="store_true", help="fewer steps, and only peers of a demand")


def _made(command: Callable[[str, str], Any]) -> None:
    add = command("demos", "train the policies of docs/watch.md")
    add("--seed", type=count, help="of training (the demo's own)")
    add = command("gallery", "train and film for docs/gallery.md")
    add("--seed", type=count, default=1, help="of training (1)")
    add = command("plot", "draw and note docs/results")
    add("--out-folder", type=Path, default=results.FOLDER, help="of the SVGs")
    command("pictures", "draw the worlds of docs/worlds.md")
