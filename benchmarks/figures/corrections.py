"""What is learned from a collector in the background, whose policy is up to an update
older than the one that learns, with each correction."""

import statistics
from typing import Any

from yieldrl.benchmarks import figure
from yieldrl.benchmarks.lagging import CORRECTIONS, trainer_of
from yieldrl.benchmarks.style import curves

SIDES = {"sync": "synchronous", **{name: f"async, {name}" for name in CORRECTIONS}}
# figure -> task, and environment steps in which the synchronous side has learned it
LEARNED = {
    "collecting-corrections-cartpole": ("ppo-cartpole", 60_000),
    "collecting-corrections-pendulum": ("ppo-pendulum", 200_000),
    "collecting-corrections-tmaze": ("ppo_lstm-tmaze", 100_000),
}
SAYS = {
    name: (
        f"What the task {task} returns after {steps:,} steps, collected in turn and,"
        " with each correction, in the background."
    )
    for name, (task, steps) in LEARNED.items()
}


def measure(seed: int, name: str, side: str, **fields: Any) -> dict[str, Any]:
    """Returns along training and at the end, and how old the acting policy was."""
    task, steps = LEARNED[name]
    collection, correction = ("sync", "clip") if side == "sync" else ("async", side)
    fields |= {"collection": collection}
    lags: list[float] = []

    def note_lag(log: Any) -> None:
        if "policy_lag" in log["logs"]:
            lags.append(float(log["logs"]["policy_lag"]))

    with trainer_of(task, correction, seed, steps, **fields) as trainer:
        curve = figure.trained(trainer, 4, note_lag)
        final = figure.score(trainer, 20, 4)
    run = {"side": side, "seed": seed, "final": final, "curve": curve}
    return run | {"policy_lag": round(statistics.mean(lags or [0.0]), 3)}


def table(runs: figure.Runs) -> figure.Table:
    rows: list[list[str]] = []
    for side, label in SIDES.items():
        of = figure.some(runs, side=side)
        along = statistics.mean(value for run in of for _, value in run["curve"])
        row = [label, figure.spread(figure.values(of, "final"), ".4g")]
        rows.append([*row, f"{along:.4g}", f"{figure.mean(of, 'policy_lag'):.2f}"])
    return ["side", "return at the end", "during training", "policy lag"], rows


if __name__ == "__main__":
    figure.main(SAYS, measure, table, curves, side=SIDES)
