"""PPO by environments, threads and processes; some cases have a neighbour, a process
that keeps one core busy all the time."""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import product
from typing import Any

from yieldrl.benchmarks import subprocesses
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import median, values
from yieldrl.benchmarks.style import dots
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_least

from .profile_ppo import FIELDS

MODULE = "yieldrl.benchmarks.claims.time.scaling"
SECONDS = 3.0  # of training that are timed; it ends with a rollout

# environments, over all processes -> steps of each in a rollout
STEPS = {4: 128, 64: 128, 1024: 32, 4096: 32}
# way -> threads of a process, processes, and whether there is a neighbour
WAYS = {
    "1 thread": (1, 1, False),
    "2 threads": (2, 1, False),
    "2 processes": (1, 2, False),
    "1 thread, a core busy": (1, 1, True),
    "2 threads, a core busy": (2, 1, True),
    "2 processes, a core busy": (1, 2, True),
}

BUSY = 1024  # environments of the cases that have a neighbour

CASES = [
    {"num_envs": num_envs, "way": way}
    for num_envs, way in product(STEPS, WAYS)
    if num_envs == BUSY or not WAYS[way][2]
]


def train(num_envs: int, threads: int, seed: int) -> dict[str, Any] | None:
    from yieldrl.algorithms import ppo
    from yieldrl.foundations import ranks

    own = num_envs // ranks().count
    fields = FIELDS | {"num_steps": STEPS[num_envs], "threads": threads}
    config = ppo.Config(**fields | {"num_envs": own}, seed=seed, speed="compile")
    marks: list[tuple[float, int]] = []
    with ppo.Trainer(config) as trainer, closing(trainer()) as loop:
        for log in loop:
            if log["log_type"] != "train" or len(trainer.buffer):
                continue
            marks.append((time.perf_counter(), log["sample_step"]))
            if len(marks) < 3:
                continue
            ends = float(marks[-1][0] - marks[2][0] > SECONDS)
            if ranks().broadcast_object(
                ends
            ):  # as the first one decides: all must leave together
                break
    (begin, before), (end, after) = marks[2], marks[-1]
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    found = {"steps_per_second": round((after - before) / (end - begin))}
    return found | {"megabytes": round(used)} if ranks().first else None


@contextmanager
def neighbour(busy: bool) -> Iterator[None]:
    """A process that keeps a core busy, as long as this lasts."""
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
    threads, processes, busy = WAYS[way]
    case = {"num_envs": num_envs, "threads": threads, "seed": seed}
    module = ["-m", subprocesses.__name__, MODULE, "train", json.dumps(case)]
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
    found = next(line for line in done.stdout.splitlines() if line[0] == "{")
    return {"seed": seed, "num_envs": num_envs, "way": way, **json.loads(found)}


def rounds(seeds: int, jobs: int) -> list[dict[str, Any]]:
    """A round of all cases for each seed, after one that compiles."""
    runs: list[dict[str, Any]] = []
    for seed in range(seeds + 1):
        found = [run_case(**case, seed=seed) for case in CASES]
        runs += found if seed > 0 else []
    return runs


def speed_of(runs: Runs, num_envs: int, way: str) -> float | None:
    found = values(runs, "steps_per_second", num_envs=num_envs, way=way)
    return statistics.median(found) if found else None


def table(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for way in WAYS:
        speeds = (speed_of(runs, num_envs, way) for num_envs in STEPS)
        row = [way, *("" if x is None else f"{x:,.0f}" for x in speeds)]
        used = median(runs, "megabytes", num_envs=BUSY, way=way)
        rows.append([*row, f"{used:,.0f}"])
    header = ["steps/s", *(f"{num_envs:,} environments" for num_envs in STEPS)]
    return [*header, "MB of a process, 1,024 environments"], rows


def judge(runs: Runs) -> list[Demand]:
    """The default is never slowed down to a fraction."""
    quiet, busy = (
        median(runs, "steps_per_second", num_envs=BUSY, way=way)
        for way in ("1 thread", "1 thread, a core busy")
    )
    words = "of the speed of one thread, with a core busy"
    return [at_least(words, busy / quiet, 0.8)]


def draw(axes: Any, runs: Runs) -> None:
    quiet = [way for way, (_, _, busy) in WAYS.items() if not busy]
    speeds = {way: [speed_of(runs, n, way) for n in STEPS] for way in quiet}
    dots(axes, {way: ([*STEPS], found) for way, found in speeds.items()}, "o-")
    axes.set_xscale("log", base=2)


CLAIMS = [
    Trial(
        name="time-scaling",
        statement=(
            "PPO in worlds of tensors, compiled: steps per second by the number of"
            " environments, threads and processes, and with one core kept busy."
        ),
        settings={**FIELDS, "seconds": SECONDS, "steps": STEPS, "ways": WAYS},
        together=rounds,
        table=table,
        judge=judge,
        draw=draw,
        axes={
            "xlabel": "environments",
            "ylabel": "steps per second",
            "yscale": "log",
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
