"""LIBERO's tasks as environments, against the benchmark's own loop, in the environment
that `make libero` sets up.

Both simulate the same episode with the same actions, in turns of some steps, so that
what differs is what is put around the simulation. Seconds are those of processors.

Then one worker and two, processes of a batch, take turns with the benchmark's loop in
this one. There seconds are those of the clock: two workers share the machine.
"""

import os
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import median, some, values
from yieldrl.benchmarks.style import dots
from yieldrl.benchmarks.timing import in_turns
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_least

ROUNDS = 5  # turns of each side
STEPS = {"pictures": 2, "states": 40}  # of a turn
SIZE = 128  # pixels of a picture's sides
SIDES = {
    "benchmark": "the benchmark's own loop",
    "yieldrl": "yieldrl",
    "without shadows": "yieldrl, without shadows",
}
WAYS = {  # what renders, and whether with and without shadows
    "states": ("", (True,)),
    "pictures by EGL": ("egl", (True, False)),
    "pictures by OSMesa": ("osmesa", (True, False)),
}
SETTINGS = {"suite": "libero_spatial", "task": 0, "size": SIZE, "steps": STEPS}

Sides = dict[str, Callable[[], float]]


def published(cameras: Sequence[str]) -> Any:
    """The benchmark's environment, as OpenVLA-OFT makes it, at the first state."""
    from yieldrl.envs.libero import starting, tasks_of

    benchmark, task = starting.import_benchmark(), tasks_of(SETTINGS["suite"])[0]
    env = benchmark.env_wrapper.ControlEnv(
        bddl_file_name=str(task.file),
        use_camera_obs=bool(cameras),
        has_offscreen_renderer=bool(cameras),
        camera_heights=SIZE,
        camera_widths=SIZE,
    )
    begin_published(env)
    return env


def begin_published(env: Any) -> None:
    from yieldrl.envs.libero import tasks_of
    from yieldrl.envs.libero.simulator import WAITING

    env.seed(0)
    env.reset()
    env.set_init_state(tasks_of(SETTINGS["suite"])[0].states()[0])
    for _ in range(10):
        env.step(WAITING)


def seconds(action: Callable[[], object]) -> float:
    """Of all processors: what else runs on the machine makes no difference."""
    begin = time.process_time()
    action()
    return time.process_time() - begin


def steps_per_second(step: Callable[[Any], object], actions: Any) -> float:
    """Of a processor, one call for each action."""

    def play() -> None:
        for action in actions:
            step(action)

    return len(actions) / seconds(play)


def some_actions(steps: int) -> np.ndarray:
    """Small random ones, `[steps, 7]`."""
    rng = np.random.default_rng(0)
    return rng.uniform(-0.3, 0.3, (steps, 7)).astype(np.float32)


def of_workers(cameras: Sequence[str], steps: int) -> dict[str, Any]:
    """Steps per second of the clock of one worker, of two, and of the benchmark's loop
    in this process, in turns; and what two take to start, in s and MB each."""
    from yieldrl.envs.libero import LiberoEnvWrapper
    from yieldrl.envs.libero.rendering import painting
    from yieldrl.envs.vectorize import vectorize

    def make() -> Any:
        return LiberoEnvWrapper(horizon=900, size=SIZE, cameras=cameras)

    begin = time.perf_counter()
    two: Any = vectorize(make, 2, "async")
    two.reset(seed=0)
    start = time.perf_counter() - begin
    memory = [peak_megabytes(process.pid) for process in two.processes]
    one: Any = vectorize(make, 1, "async")
    one.reset(seed=0)
    own, actions = published(cameras), some_actions(steps)

    def play(step: Callable[[Any], object], workers: int) -> float:
        begin = time.perf_counter()
        with painting(own.sim):
            for action in actions:
                step(action)
        return round(workers * steps / (time.perf_counter() - begin), 2)

    sides = {
        "benchmark": partial(play, lambda action: own.step(action.tolist()), 1),
        "one": partial(play, lambda action: one.step(action[None]), 1),
        "two": partial(play, lambda action: two.step(np.stack([action] * 2)), 2),
    }
    found = in_turns(sides, ROUNDS)
    two.close()
    one.close()
    with painting(own.sim):
        own.close()
    return {**found, "start_seconds": round(start, 1), "megabytes": max(memory)}


def peak_megabytes(process: int) -> int:
    """The most memory that a process has had, of Linux."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    kilobytes = next(line.split()[1] for line in lines if line.startswith("VmHWM"))
    return round(int(kilobytes) / 2**10)


def against_published(
    cameras: Sequence[str], steps: int, shadows: Sequence[bool]
) -> dict[str, Any]:
    """Steps per second of both, in turns, and seconds of a reset."""
    from yieldrl.envs.libero import LiberoEnvWrapper
    from yieldrl.envs.libero.rendering import painting

    actions = some_actions(steps)
    whole = {"horizon": 900, "size": SIZE, "cameras": cameras}
    envs = [LiberoEnvWrapper(**whole, shadows=shaded) for shaded in shadows]
    for env in envs:
        env.reset()
    resets = {"yieldrl": round(seconds(partial(envs[0].reset, seed=0)), 2)}
    own = published(cameras)

    def of_published(action: Any) -> None:
        own.step(action.tolist())

    def play_published() -> float:
        with painting(own.sim):
            return steps_per_second(of_published, actions)

    sides: Sides = {"benchmark": play_published}
    for env, shaded in zip(envs, shadows, strict=True):
        name = "yieldrl" if shaded else "without shadows"
        sides[name] = partial(steps_per_second, env.step, actions)
    found = in_turns(sides, ROUNDS)
    with painting(own.sim):
        resets["benchmark"] = round(seconds(partial(begin_published, own)), 2)
    speeds = {side: [round(x, 2) for x in taken] for side, taken in found.items()}
    return {"without shadows": [], **speeds, "reset_seconds": resets}


def measure_way(way: str, seed: int) -> dict[str, Any]:
    renderer, shadows = WAYS[way]
    if renderer:
        os.environ["MUJOCO_GL"] = renderer
    cameras = ("agentview", "wrist") if renderer else ()
    steps = STEPS["pictures" if renderer else "states"]
    workers = of_workers(cameras, steps)
    found = against_published(cameras, steps, shadows)
    return {"seed": seed, "way": way, **found, "workers": workers}


def ratio(runs: Runs) -> float:
    """Of the benchmark's speed that is left, the median of the turns."""
    return statistics.median(
        ours / theirs
        for run in runs
        for ours, theirs in zip(run["yieldrl"], run["benchmark"], strict=True)
    )


def speeds(runs: Runs, side: str, way: str) -> list[float]:
    return [x for taken in values(runs, side, way=way) for x in taken]


def table(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for way in WAYS:
        of, row = some(runs, way=way), [way]
        for side in SIDES:
            found = speeds(runs, side, way)
            row.append(f"{statistics.median(found):.1f}" if found else "")
        row.append(f"{ratio(of):.3f}")
        for side in ("benchmark", "one", "two"):
            found = [x for run in of for x in run["workers"][side]]
            row.append(f"{statistics.median(found):.1f}")
        row.append(f"{median(of, 'workers', 'start_seconds'):.1f}")
        row.append(f"{max(values(of, 'workers', 'megabytes')):,.0f}")
        resets = (median(of, "reset_seconds", of_) for of_ in ("yieldrl", "benchmark"))
        rows.append([*row, *(f"{seconds:.1f}" for seconds in resets)])
    header = ["what", "benchmark, steps/s of a processor", "yieldrl", "without shadows"]
    header += ["share of its speed", "benchmark, steps/s of the clock", "one worker"]
    header += ["two workers", "start of two, s", "MB of a worker", "reset, s"]
    return [*header, "benchmark's reset, s"], rows


def judge(runs: Runs) -> list[Demand]:
    pairs = [
        two / one
        for of in values(runs, "workers")
        for two, one in zip(of["two"], of["one"], strict=True)
    ]
    words = "times as many steps with two workers as with one"
    return [
        at_least("of the benchmark's speed", ratio(runs), 0.97),
        at_least(words, statistics.median(pairs), 1.5),
    ]


def draw(axes: Any, runs: Runs) -> None:
    ways = [*WAYS][::-1]
    points: dict[str, Any] = {}
    for place, (side, label) in enumerate(SIDES.items()):
        found = {way: speeds(runs, side, way) for way in ways}
        medians = [statistics.median(of) for of in found.values() if of]
        rows = [ways.index(way) + 0.12 * (1 - place) for way, of in found.items() if of]
        points[label] = medians, rows
    dots(axes, points)
    axes.set_yticks(range(len(ways)), ways)


CLAIMS = [
    Trial(
        name="time-libero",
        statement=(
            "LIBERO's tasks as environments are as fast as the benchmark's own loop:"
            " less than 3 % go into what is around the simulation."
        ),
        settings=SETTINGS,
        run=measure_way,
        cases=[{"way": way} for way in WAYS],
        timed=True,  # one at a time, with up to four simulators
        table=table,
        judge=judge,
        draw=draw,
        axes={
            "title": "A task of LIBERO, two cameras of 128 pixels or states alone",
            "xlabel": "steps per second of a processor",
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
