"""How long whole processes take, in turn. Python alone takes some of it, and PyTorch
most of what training takes."""

import subprocess
import sys
import tempfile
import time
from typing import Any

from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import median, values
from yieldrl.benchmarks.style import strips
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_most

ROUNDS = 4  # for each seed
PROCESSES = {  # what is started -> its arguments of Python
    "python": ("-c", "pass"),
    "import yieldrl": ("-c", "import yieldrl"),
    "yieldrl --help": ("-m", "yieldrl", "--help"),
    "import torch": ("-c", "import torch"),
    "ready to train PPO": ("-c", "from yieldrl.algorithms import ppo; ppo.Trainer"),
}


def start(name: str) -> float:
    """Seconds of a whole process, which starts in an empty folder."""
    command = [sys.executable, *PROCESSES[name]]
    with tempfile.TemporaryDirectory() as empty:
        begin = time.perf_counter()
        subprocess.run(command, cwd=empty, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begin


def rounds(seeds: int, jobs: int) -> list[dict[str, Any]]:
    """Rounds of all processes, after one that has their files read."""
    found = (
        {"round": number, **{name: round(start(name), 4) for name in PROCESSES}}
        for number in range(ROUNDS * seeds + 1)
    )
    return [*found][1:]


def table(runs: Runs) -> Table:
    rows = []
    for name in PROCESSES:
        found = values(runs, name)
        ends = f"{min(found):.3f}", f"{max(found):.3f}"
        rows.append([name, f"{median(runs, name):.3f}", *ends])
    return ["process", "seconds", "least", "most"], rows


def judge(runs: Runs) -> list[Demand]:
    """Nothing is imported that is not used yet."""
    bounds = {"import yieldrl": 1.5, "yieldrl --help": 0.5}
    return [
        at_most(f"seconds of `{name}`", median(runs, name), bound)
        for name, bound in bounds.items()
    ]


CLAIMS = [
    Trial(
        name="imports-start",
        statement=(
            "`import yieldrl` and `yieldrl --help` load what they need and no more."
        ),
        settings={"rounds": ROUNDS, "processes": PROCESSES},
        together=rounds,
        table=table,
        judge=judge,
        draw=lambda axes, runs: strips(axes, {p: values(runs, p) for p in PROCESSES}),
        axes={"title": "Whole processes, from start to end", "xlabel": "seconds"},
    )
]


if __name__ == "__main__":
    main(CLAIMS)
