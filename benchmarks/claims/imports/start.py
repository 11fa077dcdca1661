"""How long whole processes take, in turn. Python alone takes some of it, and PyTorch
most of what training takes."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from yieldrl.benchmarks.claim import Options, Run, constants, values
from yieldrl.benchmarks.style import COLORS

ROUNDS = 4  # for each seed

(PROCESSES,) = constants("imports/start", "PROCESSES")

SETTINGS = {"rounds": ROUNDS, "processes": PROCESSES}


def start(name: str) -> float:
    """Seconds of a whole process, which starts in an empty folder."""
    command = [sys.executable, *PROCESSES[name]]
    with tempfile.TemporaryDirectory() as empty:
        begin = time.perf_counter()
        subprocess.run(command, cwd=empty, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begin


def measure(options: Options) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = []
    for number in range(ROUNDS * options.seeds + 1):
        seconds = {name: round(start(name), 4) for name in PROCESSES}
        if number > 0:  # from here on the files are in memory
            runs.append({"round": number, **seconds})
    return runs


def draw(axes: Any, runs: Sequence[Run]) -> None:
    for place, (name, color) in enumerate(zip(PROCESSES, COLORS * 2, strict=False)):
        seconds, label = values(runs, name), f"{name}, {len(runs)} processes"
        at = [place] * len(runs)
        axes.plot(seconds, at, "o", color=color, alpha=0.5, label=label)
    axes.set_yticks(range(len(PROCESSES)), [*PROCESSES])
    axes.set_xlim(left=0)
