"""What the extra `[vla]` costs a user who does not use it: nothing."""

import json
import statistics
import subprocess
import sys
from typing import Any

from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import median, values
from yieldrl.benchmarks.style import dots
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_most

EXTRA = ("transformers", "peft", "accelerate", "safetensors", "tokenizers")
SIDES = ("without", "installed")
PAIRS = 4  # for each seed, in turn

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


def in_turn(seeds: int, jobs: int) -> list[dict[str, Any]]:
    start("installed")  # the files are in memory from here on
    runs: list[dict[str, Any]] = []
    for number in range(1, PAIRS * seeds + 1):
        order = SIDES if number % 2 else SIDES[::-1]
        runs.append({"pair": number, **{side: start(side) for side in order}})
    return runs


def table(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for side in SIDES:
        seconds, size = (median(runs, side, k) for k in ("seconds", "mebibytes"))
        rows.append([f"[vla] {side}", f"{seconds:.3f}", f"{size:.1f}"])
    return ["", "seconds of import", "MiB at its peak"], rows


def judge(runs: Runs) -> list[Demand]:
    """As fast and as small, and nothing of the extra is loaded."""

    def times(what: str) -> float:
        pairs = (run["installed"][what] / run["without"][what] for run in runs)
        return statistics.median(pairs)

    loaded = sum(len(run["installed"]["loaded"]) for run in runs)
    return [
        at_most("times the start-up without the extra", times("seconds"), 1.05),
        at_most("times the memory without the extra", times("mebibytes"), 1.02),
        at_most("packages of the extra that are loaded", loaded, 0),
    ]


def draw(axes: Any, runs: Runs) -> None:
    for_side = {f"[vla] {side}, {len(runs)} processes": side for side in SIDES}
    points = {
        label: (values(runs, side, "seconds"), values(runs, side, "mebibytes"))
        for label, side in for_side.items()
    }
    dots(axes, points)


CLAIMS = [
    Trial(
        name="vla-imports",
        statement=(
            "Importing yieldrl takes as long and as much memory with the extra [vla]"
            " installed as without it."
        ),
        settings={"pairs": PAIRS, "packages": EXTRA},
        together=in_turn,
        table=table,
        judge=judge,
        draw=draw,
        axes={
            "title": "import yieldrl",
            "xlabel": "seconds",
            "ylabel": "MiB at its peak",
            "xlim": (0, None),
            "ylim": (0, None),
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
