"""How long it takes until yieldrl can be used.

Whole processes, from their start to their end, in turn. Python alone takes some of it,
and PyTorch most of what training takes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from yieldrl.benchmarks.claim import (
    Options,
    Run,
    Table,
    Verdict,
    at_most,
    median,
    values,
)
from yieldrl.benchmarks.style import COLORS

ROUNDS = 4  # for each seed

PROCESSES = {
    "python": ["-c", "pass"],
    "import yieldrl": ["-c", "import yieldrl"],
    "yieldrl --help": ["-m", "yieldrl", "--help"],
    "import torch": ["-c", "import torch"],
    "ready to train PPO": ["-c", "from yieldrl.algorithms import ppo; ppo.Trainer"],
}
"""What is started -> its arguments of Python."""

MAX_SECONDS = {"import yieldrl": 1.5, "yieldrl --help": 0.5}
SETTINGS = {"rounds": ROUNDS, "processes": PROCESSES}


def start(name: str) -> float:
    """Seconds of a whole process, which starts in an empty folder."""
    command = [sys.executable, *PROCESSES[name]]
    with tempfile.TemporaryDirectory() as empty:
        begin = time.perf_counter()
        subprocess.run(command, cwd=empty, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begin


def measure(options: Options) -> list[dict[str, Any]]:
    """Rounds of all, one process at a time; the first one is not counted."""
    runs: list[dict[str, Any]] = []
    for number in range(ROUNDS * options.seeds + 1):
        seconds = {name: round(start(name), 4) for name in PROCESSES}
        if number > 0:  # from here on the files are in memory
            runs.append({"round": number, **seconds})
    return runs


def judge(runs: Sequence[Run]) -> list[Verdict]:
    """Nothing is imported that is not used yet."""
    return [
        at_most(f"seconds of `{name}`", median(runs, name), most)
        for name, most in MAX_SECONDS.items()
    ]


def table(runs: Sequence[Run]) -> Table:
    """Medians, and from least to most."""
    rows: list[list[str]] = []
    for name in PROCESSES:
        of = values(runs, name)
        rows.append(
            [name, *(f"{x:.3f}" for x in (median(runs, name), min(of), max(of)))]
        )
    return ["process", "seconds", "least", "most"], rows


def draw(axes: Any, runs: Sequence[Run]) -> None:
    """Every process as a dot."""
    for place, (name, color) in enumerate(zip(PROCESSES, COLORS * 2, strict=False)):
        seconds, label = values(runs, name), f"{name}, {len(runs)} processes"
        at = [place] * len(runs)
        axes.plot(seconds, at, "o", color=color, alpha=0.5, label=label)
    axes.set_yticks(range(len(PROCESSES)), [*PROCESSES])
    axes.set_xlim(left=0)
