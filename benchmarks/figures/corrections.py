"""What is learned from a collector in the background, whose policy is up to an update
older than the one that learns, with each correction."""

import dataclasses
import importlib
import statistics
from typing import Any

from yieldrl.algorithms import appo, gipo, ppo
from yieldrl.benchmarks import figure
from yieldrl.benchmarks.style import curves
from yieldrl.benchmarks.tasks import TASKS

CORRECTIONS = ("none", "clip", "gipo", "vtrace")
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
    task, steps = LEARNED[name]
    collection = "sync" if side == "sync" else "async"
    with trainer_of(
        task, side, seed, steps, collection=collection, **fields
    ) as trainer:
        return {"side": side, "seed": seed, **learned(trainer)}


class Uncorrected(appo.Algorithm):
    """Takes the actions of an older policy for those of the policy of now."""

    advantage = ppo.Algorithm.advantage


def trainer_of(task: str, side: str, seed: int, steps: int, **fields: Any) -> Any:
    """A task's trainer, with the algorithm of a correction."""
    algorithm = importlib.import_module(f"yieldrl.algorithms.{TASKS[task].algorithm}")
    fields |= {"total_steps": steps, "eval_every": steps // 10, "device": "cpu"}
    config = dataclasses.replace(TASKS[task].make_config(seed), **fields)
    kinds = {"none": Uncorrected, "gipo": gipo.Algorithm, "vtrace": appo.Algorithm}
    if side not in kinds:
        return algorithm.Trainer(config)
    bases = (gipo.Config, type(config))
    mixed: Any = dataclasses.make_dataclass(
        "Config", [], bases=bases, frozen=True, kw_only=True
    )
    parts = {
        "algorithm_class": type("Algorithm", (kinds[side], algorithm.Algorithm), {}),
        "config_class": mixed,
    }
    trainer = type("Trainer", (algorithm.Trainer,), parts)
    return trainer(mixed.from_dict(config.to_dict()))


def learned(trainer: Any) -> dict[str, Any]:
    """Returns along training and at the end, and how old the acting policy was."""
    curve: list[tuple[int, float]] = []
    lags: list[float] = []
    for log in trainer():
        logs = log["logs"]
        if log["log_type"] == "evaluate":
            curve.append((log["sample_step"], round(float(logs["episode_return"]), 4)))
        elif "policy_lag" in logs:
            lags.append(float(logs["policy_lag"]))
    final = round(float(trainer.evaluate(20)["logs"]["episode_return"]), 4)
    lag = round(statistics.mean(lags), 3) if lags else 0.0
    return {"final": final, "policy_lag": lag, "curve": curve}


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
