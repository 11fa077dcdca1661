"""What a cluster of 1 000 workers would do, from service times that were measured."""

from typing import Any

import numpy as np

from yieldrl.benchmarks import results
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import Run, median
from yieldrl.benchmarks.style import COLORS, INK
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_most

from .queues import DEADLINE, MAX_BATCH, WORLD, Cluster
from .steps import FIELDS, WORKERS
from .steps import SECONDS as STEP

COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
LAGS = (0, 1, 4)

LARGE = {
    **{f"lag {lag}": f"policy of 1 MB, lag {lag}" for lag in LAGS},
    **{f"large {lag}": f"policy of 1 GB, lag {lag}" for lag in LAGS},
    **{f"inference {lag}": f"64 inference actors, lag {lag}" for lag in LAGS},
}


def measured(name: str) -> list[Run]:
    """Runs of another claim, whose numbers are the service times here."""
    return results.load(results.FOLDER / f"cluster-{name}.json")["runs"]


def service_times() -> dict[str, float]:
    """Seconds: of a call; of a segment, and of one worker's share in it; of a batch,
    and of one observation in it; of laying down a megabyte, and until it is loaded."""
    runs = measured("services")

    def ms(name: str, of: str = "own") -> float:
        return median(runs, of, name=name) / 1e3

    joins = [ms(f"segment {n}") for n in WORKERS]
    per_worker, join = np.polyfit(WORKERS, joins, 1)
    one, many = ms("batch 1", "ms"), ms("batch 64", "ms")
    return {
        "call": ms("call", "ms"),
        "join": max(0.0, float(join)),
        "per_worker": max(0.0, float(per_worker)),
        "batch": one,
        "observation": max(0.0, (many - one) / 63),
        "put": ms("weights 100 1") / 100,
        "megabyte": ms("weights 100 1", "ms") / 100,
    }


def simulate(seeds: int, jobs: int) -> list[dict[str, Any]]:
    """What was measured again, and what nobody has measured."""
    times, taken = service_times(), measured("steps")
    found: list[dict[str, Any]] = []
    for seed in range(1, seeds + 1):
        for n in WORKERS:
            of = {"side": f"ray {n}", "cost": "wait"}
            step = STEP["wait"] * FIELDS["num_envs"] / n
            here = {"workers": n, "same": True, "mb": 0.04, "step": step}
            here["lag"] = FIELDS["max_policy_lag"]
            run = simulated(
                seed, learn=median(taken, "learn", **of), times=times, **here
            )
            run["rate"] *= FIELDS["num_envs"] / n
            found.append(run | {"case": "here", "taken": median(taken, "rate", **of)})
        far: dict[str, Any] = {"learn": WORLD["learn"], "times": times}
        far["step"] = STEP["wait"]
        for lag in LAGS:
            for n in COUNTS[:-1]:
                found.append(
                    {"case": "far", **simulated(seed, workers=n, lag=lag, **far)}
                )
            sides = {"lag": {}, "large": {"mb": 1e3}, "inference": {"actors": 64}}
            for name, side in sides.items():
                run = simulated(seed, workers=COUNTS[-1], lag=lag, **side, **far)
                found.append({"case": f"{name} {lag}", **run})
    return found


def simulated(seed: int, **of: Any) -> dict[str, Any]:
    run = Cluster(rng=np.random.default_rng(seed), **of).run()
    return {"seed": seed, "workers": of["workers"], "max_lag": of["lag"], **run}


def judge(runs: Runs) -> list[Demand]:
    return [
        at_most(
            f"{n} workers, simulated over measured, away from 1",
            abs(median(runs, "rate", **here) / median(runs, "taken", **here) - 1),
            0.15,
        )
        for n in WORKERS
        if (here := {"case": "here", "workers": n})
    ]


def table(runs: Runs) -> Table:
    columns = {"rate": ",.0f", "share": ".2f", "lag": ".2f", "batch": ".1f"}
    columns["latency"] = ".1f"
    rows = [
        [label, *(f"{median(runs, k, case=case):{of}}" for k, of in columns.items())]
        for case, label in LARGE.items()
    ]
    header = ["1 000 workers", "steps/s", "share", "policy lag"]
    return [*header, "observations a batch", "ms until an action"], rows


def draw(axes: Any, runs: Runs) -> None:
    for color, lag in zip(COLORS, LAGS, strict=False):
        cases = ["far"] * (len(COUNTS) - 1) + [f"lag {lag}"]
        shares = [
            median(runs, "share", case=case, workers=n, max_lag=lag)
            for case, n in zip(cases, COUNTS, strict=True)
        ]
        axes.plot(COUNTS, shares, ".-", color=color, label=f"lag up to {lag}")
        share = median(runs, "share", case=f"inference {lag}")
        axes.plot(COUNTS[-1], share, "s", color=color, fillstyle="none")
    axes.plot([], [], "s", color=INK, fillstyle="none", label="64 inference actors")
    taken = [
        median(runs, "taken", case="here", workers=n) * STEP["wait"] / n
        for n in WORKERS
    ]
    axes.plot(WORKERS, taken, "x", color=INK, label="measured, lag up to 2")


CLAIMS = [
    Trial(
        name="cluster-simulation",
        statement=(
            "A simulation with the measured service times takes as many steps a second"
            " as were measured with 1 to 8 workers; so it may say what 1 000 workers"
            " would do."
        ),
        settings={"world": WORLD, "max_batch": MAX_BATCH, "deadline": DEADLINE},
        together=simulate,
        table=table,
        judge=judge,
        draw=draw,
        axes={
            "title": "Simulated, a step waits 10 ms; 32 steps a segment",
            "xlabel": "rollout workers",
            "ylabel": "share of what so many workers could take",
            "xscale": "log",
            "ylim": (0, 1.05),
        },
    )
]


if __name__ == "__main__":
    main(CLAIMS)
