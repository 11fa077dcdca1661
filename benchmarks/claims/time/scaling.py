"""PPO by environments, threads and processes; some cases have a neighbour, a process
that keeps one core busy all the time."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import product
from typing import Any

from yieldrl.benchmarks.claim import Options, Run, constants, median
from yieldrl.benchmarks.style import COLORS

from .profile_ppo import FIELDS

SECONDS = 3.0  # of training that are timed; it ends with a rollout

STEPS, WAYS = constants("time/scaling", "STEPS", "WAYS")

BUSY = 1024  # environments of the cases that have a neighbour
SETTINGS = {**FIELDS, "seconds": SECONDS, "steps": STEPS, "ways": WAYS}

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
    runs: list[dict[str, Any]] = []
    for seed in range(options.seeds + 1):
        found = [run_case(**case, seed=seed) for case in CASES]
        runs += found if seed > 0 else []
        print(f"round {seed} of {options.seeds}", flush=True)
    return runs


def speed_of(runs: Sequence[Run], num_envs: int, way: str) -> float:
    return median(runs, "steps_per_second", num_envs=num_envs, way=way)


def draw(axes: Any, runs: Sequence[Run]) -> None:
    quiet = [way for way, (_, _, busy) in WAYS.items() if not busy]
    for way, color in zip(quiet, COLORS, strict=False):
        speeds = [speed_of(runs, num_envs, way) for num_envs in STEPS]
        axes.plot([*STEPS], speeds, "o-", color=color, label=way)


if __name__ == "__main__":
    answer = train(*json.loads(sys.argv[1]))
    if answer is not None:
        print(json.dumps(answer))
