"""What `time scaling` measures: PPO by environments, threads and processes.

Every case trains for some seconds in processes of its own. Cases take turns, and some
have a neighbour: a process that keeps one core busy all the time.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import product
from typing import TYPE_CHECKING, Any

from yieldrl.benchmarks.spent import SETTINGS
from yieldrl.benchmarks.style import COLORS
from yieldrl.benchmarks.trials import Options, Run, Trial, Verdict
from yieldrl.benchmarks.trials.trial import Table, at_least

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SECONDS = 3.0
"""Of training that are timed; it ends with a rollout."""

STEPS = {4: 128, 64: 128, 1024: 32, 4096: 32}
"""Environments, over all processes -> steps of each in a rollout."""

WAYS = {
    "1 thread": (1, 1, False),
    "2 threads": (2, 1, False),
    "2 processes": (1, 2, False),
    "1 thread, a core busy": (1, 1, True),
    "2 threads, a core busy": (2, 1, True),
    "2 processes, a core busy": (1, 2, True),
}
"""Way -> threads of a process, processes, and whether there is a neighbour."""

BUSY = 1024
"""Environments of the cases that have a neighbour."""

CASES = [
    (num_envs, way)
    for num_envs, way in product(STEPS, WAYS)
    if num_envs == BUSY or not WAYS[way][2]
]


def train(num_envs: int, threads: int, seed: int) -> dict[str, Any] | None:
    """Steps per second of all processes, and MB of memory of this one.

    The first process answers; `torchrun` starts several.
    """
    from yieldrl.algorithms import ppo
    from yieldrl.foundations import ranks

    own = num_envs // ranks().count
    settings = SETTINGS | {"num_steps": STEPS[num_envs], "threads": threads}
    config = ppo.Config(**settings | {"num_envs": own}, seed=seed, speed="compile")
    marks: list[tuple[float, int]] = []
    with ppo.Trainer(config) as trainer, closing(trainer()) as loop:
        for log in loop:
            if log["log_type"] != "train" or len(trainer.buffer):
                continue
            marks.append((time.perf_counter(), log["sample_step"]))
            if len(marks) < 3:
                continue
            ends = float(marks[-1][0] - marks[2][0] > SECONDS)
            if ranks().same(ends):  # as the first one says: nobody may leave alone
                break
    (begin, before), (end, after) = marks[2], marks[-1]
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    found = {"steps_per_second": round((after - before) / (end - begin))}
    return found | {"megabytes": round(used)} if ranks().first else None


@contextmanager
def neighbour(busy: bool) -> Iterator[None]:
    """A process that computes for nobody, as long as this lasts."""
    if not busy:
        yield
        return
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def run_case(num_envs: int, way: str, seed: int) -> dict[str, Any]:
    """A case once."""
    threads, processes, busy = WAYS[way]
    module = ["-m", __name__, json.dumps([num_envs, threads, seed])]
    several = ["-m", "torch.distributed.run", "--standalone"]
    several += ["--nproc-per-node", str(processes)]
    words = module if processes == 1 else [*several, *module]
    env = os.environ | {"OMP_NUM_THREADS": str(threads)}
    with tempfile.TemporaryDirectory() as empty, neighbour(busy):
        done = subprocess.run(
            [sys.executable, *words], cwd=empty, env=env, capture_output=True, text=True
        )
    if done.returncode != 0:
        raise RuntimeError(f"{num_envs}, {way}: it ended with\n{done.stderr[-3000:]}")
    case = {"seed": seed, "num_envs": num_envs, "way": way}
    return case | json.loads(done.stdout.splitlines()[-1])


def measure(options: Options) -> list[dict[str, Any]]:
    """Rounds of all cases, one at a time; the first one, which compiles, is dropped."""
    runs: list[dict[str, Any]] = []
    for seed in range(options.seeds + 1):
        for num_envs, way in CASES:
            run = run_case(num_envs, way, seed)
            if seed > 0:
                runs.append(run)
        print(f"round {seed} of {options.seeds}", flush=True)
    return runs


def median(runs: Sequence[Run], num_envs: int, way: str, name: str) -> float | None:
    """Of a case; None if it is none."""
    found = [r[name] for r in runs if (r["num_envs"], r["way"]) == (num_envs, way)]
    return statistics.median(found) if found else None


def speed_of(runs: Sequence[Run], num_envs: int, way: str) -> float:
    """Steps per second of a case that there is."""
    found = median(runs, num_envs, way, "steps_per_second")
    assert found is not None
    return found


def judge(runs: Sequence[Run]) -> list[Verdict]:
    """Who takes the default is never slowed down to a fraction."""
    alone = speed_of(runs, BUSY, "1 thread")
    beside = speed_of(runs, BUSY, "1 thread, a core busy")
    said = "of the speed of one thread, with a core busy"
    return [at_least(said, beside / alone, 0.8)]


def table(runs: Sequence[Run]) -> Table:
    """Steps per second by environments and ways, and memory."""
    rows: list[list[str]] = []
    for way in WAYS:
        found = [median(runs, n, way, "steps_per_second") for n in STEPS]
        used = median(runs, BUSY, way, "megabytes")
        row = ["" if value is None else f"{value:,.0f}" for value in found]
        rows.append([way, *row, f"{used:,.0f}"])
    heads = [f"{n:,} environments" for n in STEPS]
    return ["steps/s", *heads, f"MB of a process, {BUSY:,} environments"], rows


def fill(axes: Axes, runs: Sequence[Run]) -> None:
    """Steps per second against environments, a line for each way on quiet cores."""
    quiet = [way for way, (_, _, busy) in WAYS.items() if not busy]
    for way, color in zip(quiet, COLORS, strict=False):
        values = [speed_of(runs, num_envs, way) for num_envs in STEPS]
        axes.plot([*STEPS], values, "o-", color=color, label=way)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("environments")
    axes.set_ylabel("steps per second")


TRIAL = Trial(
    statement="PPO in worlds of tensors, compiled: steps per second by the number of"
    " environments, threads and processes, and with one core kept busy.",
    measure=measure,
    judge=judge,
    table=table,
    fill=fill,
    settings={**SETTINGS, "seconds": SECONDS, "steps": STEPS, "ways": WAYS},
)

if __name__ == "__main__":
    answer = train(*json.loads(sys.argv[1]))
    if answer is not None:
        print(json.dumps(answer))
