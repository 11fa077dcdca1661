"""What the extra `[vla]` costs a user who does not use it: nothing."""

import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from yieldrl.benchmarks.claim import Options, Run, values
from yieldrl.benchmarks.style import COLORS

EXTRA = ("transformers", "peft", "accelerate", "safetensors", "tokenizers")
SIDES = ("without", "installed")
PAIRS = 4  # for each seed, in turn
SETTINGS = {"pairs": PAIRS, "packages": list(EXTRA)}

# imports what training PPO takes; on one side the extra's packages are hidden
PROGRAM = """
import json, resource, sys, time
from importlib.machinery import PathFinder

class Hiding(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        hidden = name.partition(".")[0] in {hidden!r}
        return None if hidden else super().find_spec(name, path, target)

sys.meta_path = [Hiding if each is PathFinder else each for each in sys.meta_path]
begin = time.perf_counter()
import yieldrl
from yieldrl.algorithms import ppo
seconds = time.perf_counter() - begin
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
loaded = sorted({extra!r} & {{name.partition(".")[0] for name in sys.modules}})
print(json.dumps({{"seconds": seconds, "mebibytes": peak, "loaded": loaded}}))
"""


def start(side: str) -> dict[str, Any]:
    """Seconds and memory of a fresh process that imports `yieldrl`."""
    hidden = set(EXTRA) if side == "without" else set()
    program = PROGRAM.format(hidden=hidden, extra=set(EXTRA))
    command = [sys.executable, "-c", program]
    return json.loads(subprocess.check_output(command, text=True).splitlines()[-1])


def measure(options: Options) -> list[dict[str, Any]]:
    start("installed")  # the files are in memory from here on
    runs: list[dict[str, Any]] = []
    for number in range(1, PAIRS * options.seeds + 1):
        order = SIDES if number % 2 else SIDES[::-1]
        runs.append({"pair": number, **{side: start(side) for side in order}})
    return runs


def ratio(runs: Sequence[Run], what: str) -> float:
    """The median of the pairs' ratios."""
    return statistics.median(
        run["installed"][what] / run["without"][what] for run in runs
    )


def draw(axes: Any, runs: Sequence[Run]) -> None:
    for color, side in zip(COLORS, SIDES, strict=False):
        points = (values(runs, side, what) for what in ("seconds", "mebibytes"))
        label = f"[vla] {side}, {len(runs)} processes"
        axes.plot(*points, "o", color=color, label=label, alpha=0.6)
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
