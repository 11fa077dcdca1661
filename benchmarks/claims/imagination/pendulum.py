"""Pendulum with and without imagination: returns against real steps, and what the model
of the world knew meanwhile."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from yieldrl.algorithms import mbpo, sac
from yieldrl.benchmarks.claim import Run
from yieldrl.benchmarks.style import COLORS, line
from yieldrl.experiments.plot import aggregate

COMMON: dict[str, Any] = {
    "eval_every": 250,
    "device": "cpu",
    "threads": 1,
    "speed": "eager",
}
FEW = 1_500
"""Real steps of all but SAC, which has as many as it needs."""

BUSY: dict[str, Any] = {
    "total_steps": FEW,
    "learning_starts": 500,
    "gradient_steps": 10,
}
HORIZONS = (1, 5, 15)
SIDES: dict[str, dict[str, Any]] = {
    "sac": {"total_steps": 4_500},
    "sac, as busy": BUSY,
    **{
        f"mbpo, horizon {h}": {**BUSY, "horizon_start": h, "horizon_end": h}
        for h in HORIZONS
    },
}
CASES = [{"side": side} for side in SIDES]
SETTINGS = {"common": COMMON, "sides": SIDES}
GOAL = -200.0
KEPT = (
    *("model_error_1", "model_error_5", "model_error_15", "reward_error"),
    *("disagreement", "imagined_return", "real_return", "model_steps"),
)


def train(side: str, seed: int) -> dict[str, Any]:
    """One run: its evaluations, its time, and what was logged with every fit."""
    module: Any = mbpo if side.startswith("mbpo") else sac
    config = module.Config(**COMMON, **SIDES[side], seed=seed)
    curve, fits = [], []
    begin, busy = time.perf_counter(), time.process_time()
    with module.Trainer(config) as trainer:
        for log in trainer():
            logs, now = log["logs"], log["sample_step"]
            if log["log_type"] == "evaluate":
                curve.append([now, round(float(logs["episode_return"]), 1)])
            elif "model_steps" in logs:
                found = {k: round(float(logs[k]), 4) for k in KEPT if k in logs}
                fits.append({"step": now, **found})
    return {
        "side": side,
        "seed": seed,
        "curve": curve,
        "fits": fits,
        "seconds": round(time.perf_counter() - begin, 1),
        "cpu_seconds": round(time.process_time() - busy, 1),
    }


def mean_curve(runs: Sequence[Run]) -> list[tuple[int, float]]:
    """Steps of evaluations, and the mean return of the runs."""
    curves = np.array([run["curve"] for run in runs])
    return [(int(step), float(score)) for step, score in curves.mean(0)]


def reached(runs: Sequence[Run]) -> float:
    """Real steps until the mean return is `GOAL`; infinite if it never is."""
    found = [step for step, score in mean_curve(runs) if score >= GOAL]
    return found[0] if found else float("inf")


def of(runs: Sequence[Run], side: str) -> list[Run]:
    return [run for run in runs if run["side"] == side]


def share_of_steps(runs: Sequence[Run]) -> float:
    """Real steps of MBPO to the goal, in those of SAC."""
    return reached(of(runs, "mbpo, horizon 5")) / reached(of(runs, "sac"))


def at_the_end(runs: Sequence[Run]) -> list[float]:
    """The return of the last evaluation."""
    return [run["curve"][-1][1] for run in runs]


def last_error(runs: Sequence[Run], steps: int) -> float | None:
    """The error of predictions after so many steps at the last fit, the mean."""
    name = f"model_error_{steps}"
    found = [run["fits"][-1][name] for run in runs if run["fits"]]
    return float(np.mean(found)) if found else None


def error_1(runs: Sequence[Run]) -> float | None:
    return last_error(runs, 1)


def error_5(runs: Sequence[Run]) -> float | None:
    return last_error(runs, 5)


def error_15(runs: Sequence[Run]) -> float | None:
    return last_error(runs, 15)


def draw(axes: Any, runs: Sequence[Run]) -> None:
    for color, side in zip(COLORS, SIDES, strict=False):
        some = of(runs, side)
        curves = [np.array(run["curve"]).T for run in some]
        drawn = [(points[0], points[1]) for points in curves]
        line(axes, aggregate(f"{side}, {len(some)} seeds", drawn), color)
    axes.axhline(GOAL, color="#7f7f7f", linewidth=0.8, linestyle=":")
