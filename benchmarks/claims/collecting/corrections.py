"""What is learned from a collector in the background, whose policy is up to an update
older than the one that learns, with each correction."""

import dataclasses
import importlib
import statistics
import time
from typing import Any

from yieldrl.algorithms import appo, gipo, ppo
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import mean, some, values
from yieldrl.benchmarks.style import lines
from yieldrl.benchmarks.tasks import TASKS
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_most

CORRECTIONS = ("none", "clip", "gipo", "vtrace")

# synchronous, as PPO is, and in the background with each correction
SIDES = {"sync": "synchronous", **{name: f"async, {name}" for name in CORRECTIONS}}

# task -> environment steps of all sides, in which the synchronous one has learned
STEPS = {"ppo-cartpole": 60_000, "ppo-pendulum": 200_000, "ppo_lstm-tmaze": 100_000}

EPISODES = 20  # of the final evaluation

# share of the synchronous return by which the best correction may be lower
WITHIN = 0.05


def train(task: str, side: str, seed: int) -> dict[str, Any]:
    config = dataclasses.replace(
        TASKS[task].make_config(seed),
        total_steps=STEPS[task],
        eval_every=STEPS[task] // 10,
        device="cpu",
        collection="sync" if side == "sync" else "async",
    )
    algorithm = importlib.import_module(f"yieldrl.algorithms.{TASKS[task].algorithm}")
    with trainer_of(algorithm, config, side) as trainer:
        return {"side": side, "seed": seed, **learned(trainer)}


class Uncorrected(appo.Algorithm):
    """Takes the actions of an older policy for those of the policy of now."""

    advantage = ppo.Algorithm.advantage


def trainer_of(algorithm: Any, config: Any, side: str) -> Any:
    kinds = {"none": Uncorrected, "gipo": gipo.Algorithm, "vtrace": appo.Algorithm}
    if side not in kinds:
        return algorithm.Trainer(config)
    bases = gipo.Config, type(config)
    mixed = dataclasses.make_dataclass(
        "Config", [], bases=bases, frozen=True, kw_only=True
    )
    parts = {
        "algorithm_class": type("Algorithm", (kinds[side], algorithm.Algorithm), {}),
        "config_class": mixed,
    }
    trainer = type("Trainer", (algorithm.Trainer,), parts)
    return trainer(mixed.from_dict(config.to_dict()))


def learned(trainer: Any) -> dict[str, Any]:
    curve: list[tuple[int, float]] = []
    lags: list[float] = []
    begin = time.perf_counter()
    for log in trainer():
        logs = log["logs"]
        if log["log_type"] == "evaluate":
            curve.append((log["sample_step"], round(float(logs["episode_return"]), 4)))
        elif "policy_lag" in logs:
            lags.append(float(logs["policy_lag"]))
    taken = time.perf_counter() - begin
    final = float(trainer.evaluate(EPISODES)["logs"]["episode_return"])
    return {
        "final": round(final, 4),
        "policy_lag": round(statistics.mean(lags), 3) if lags else 0.0,
        "seconds": round(taken, 1),
        "curve": curve,
    }


def evaluations(runs: Runs) -> float:
    """The mean return of all evaluations during training."""
    return statistics.mean(value for run in runs for _, value in run["curve"])


def table(runs: Runs) -> Table:
    rows: list[list[str]] = []
    for side, label in SIDES.items():
        of, final = some(runs, side=side), values(runs, "final", side=side)
        ends = f"{min(final):.4g} to {max(final):.4g}"
        row = [label, f"{mean(of, 'final'):.4g}", ends]
        row += [f"{evaluations(of):.4g}", f"{mean(of, 'policy_lag'):.2f}"]
        rows.append([*row, f"{mean(of, 'seconds'):.0f}"])
    header = ["side", "mean return", "seeds", "during training", "policy lag", "s"]
    return header, rows


def judge(runs: Runs) -> list[Demand]:
    means = {side: mean(runs, "final", side=side) for side in SIDES}
    best = max(CORRECTIONS, key=lambda side: means[side])
    share = (means["sync"] - means[best]) / abs(means["sync"])
    demand = f"share by which the best, {best}, returns less than synchronous"
    return [at_most(demand, share, WITHIN)]


def claim(task: str, name: str, what: str, world: str) -> Trial:
    return Trial(
        name=f"collecting-corrections-{name}",
        statement=(
            f"What {what} returns on {world} after as many steps, collected"
            " in turn and, with each correction, in the background."
        ),
        settings={"task": task, "total_steps": STEPS[task], "episodes": EPISODES},
        run=train,
        cases=[{"task": task, "side": side} for side in SIDES],
        table=table,
        judge=judge,
        draw=lambda axes, runs: lines(
            axes, {of: values(runs, "curve", side=side) for side, of in SIDES.items()}
        ),
        axes={
            "title": f"{what} on {world}, collected in the background",
            "xlabel": "environment steps",
            "ylabel": "return of deterministic episodes",
        },
    )


CLAIMS = [
    claim("ppo-cartpole", "cartpole", "ppo", "CartPole-v1"),
    claim("ppo-pendulum", "pendulum", "ppo", "Pendulum-v1"),
    claim("ppo_lstm-tmaze", "tmaze", "ppo_lstm", "yieldrl/TMaze-v1"),
]


if __name__ == "__main__":
    main(CLAIMS)
