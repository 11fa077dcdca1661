"""What `imports` measures: how long it takes until yieldrl can be used.

Whole processes, from their start to their end, in turn. Python alone takes some of it,
and PyTorch most of what training takes.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from yieldrl.benchmarks.style import COLORS
from yieldrl.benchmarks.trials import Options, Run, Trial, Verdict
from yieldrl.benchmarks.trials.trial import Table, at_most

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROUNDS = 4
"""For each seed."""

PROCESSES = {
    "python": ["-c", "pass"],
    "import yieldrl": ["-c", "import yieldrl"],
    "yieldrl --help": ["-m", "yieldrl", "--help"],
    "import torch": ["-c", "import torch"],
    "ready to train PPO": ["-c", "from yieldrl.algorithms import ppo; ppo.Trainer"],
}
"""What is started -> its arguments of Python."""

MOST = {"import yieldrl": 1.5, "yieldrl --help": 0.5}
"""Seconds that it may take."""


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


def median(runs: Sequence[Run], name: str) -> float:
    """Seconds of one of them."""
    return statistics.median(run[name] for run in runs)


def judge(runs: Sequence[Run]) -> list[Verdict]:
    """Nobody waits for what is not used yet."""
    return [
        at_most(f"seconds of `{name}`", median(runs, name), most)
        for name, most in MOST.items()
    ]


def table(runs: Sequence[Run]) -> Table:
    """Medians, and from least to most."""
    rows = [
        [
            name,
            f"{median(runs, name):.3f}",
            f"{min(run[name] for run in runs):.3f}",
            f"{max(run[name] for run in runs):.3f}",
        ]
        for name in PROCESSES
    ]
    return ["process", "seconds", "least", "most"], rows


def fill(axes: Axes, runs: Sequence[Run]) -> None:
    """Every process as a dot."""
    for place, (name, color) in enumerate(zip(PROCESSES, COLORS * 2, strict=False)):
        seconds = [run[name] for run in runs]
        label = f"{name}, {len(runs)} processes"
        axes.plot(
            seconds, [place] * len(runs), "o", color=color, alpha=0.5, label=label
        )
    axes.set_yticks(range(len(PROCESSES)), [*PROCESSES])
    axes.set_xlim(left=0)
    axes.set_title("Whole processes, from start to end")
    axes.set_xlabel("seconds")


TRIAL = Trial(
    statement="`import yieldrl` and `yieldrl --help` load what they need and no more.",
    measure=measure,
    judge=judge,
    table=table,
    fill=fill,
    settings={"rounds": ROUNDS, "processes": PROCESSES},
)
