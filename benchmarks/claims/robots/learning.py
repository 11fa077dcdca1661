"""Tuned files for a robot's task, seed by seed, judged in 100 episodes at the end."""

import importlib
import time
from typing import Any

from yieldrl.algorithms import behavior_cloning
from yieldrl.benchmarks.evidence import main
from yieldrl.benchmarks.runs import mean, spread, values
from yieldrl.benchmarks.style import lines
from yieldrl.benchmarks.tasks import make_config
from yieldrl.benchmarks.trial import Demand, Runs, Table, Trial, at_least

EPISODES = 100


def train(
    seed: int, algorithm: str, tuned: str, shown: str, clones: bool = False
) -> dict[str, Any]:
    """Train one seed with the tuned file's settings, and evaluate it.

    `first` is how well it does before: untrained or, if it `clones` the task's expert
    by behaviour cloning's file of the same name, cloned. `shown` is the metric drawn.
    """
    began = time.process_time()
    model = {"model": _cloned(tuned, seed)} if clones else {}
    cloning = time.process_time() - began
    trainer_class = importlib.import_module(f"yieldrl.algorithms.{algorithm}").Trainer
    config = make_config(algorithm, tuned, {"seed": seed})
    with trainer_class(config, **model) as trainer:
        first = _found(trainer.evaluate(EPISODES))
        curve = [{"sample_step": 0, **first}]
        begin, began = time.perf_counter(), time.process_time()
        for log in trainer():
            if log["log_type"] == "evaluate":
                curve.append({"sample_step": log["sample_step"], **_found(log)})
        processor, seconds = time.process_time() - began, time.perf_counter() - begin
        final = _found(trainer.evaluate(EPISODES))
    return {
        "seed": seed,
        "algorithm": algorithm,
        "shown": shown,
        "first": first,
        "curve": curve,
        "final": final,
        "cloning_seconds": round(cloning, 2),
        "processor_seconds": round(processor, 2),
        "train_seconds": round(seconds, 1),
    }


def _cloned(tuned: str, seed: int) -> Any:
    """A policy that does as the task's expert, not quite."""
    config = make_config("behavior_cloning", tuned, {"seed": seed})
    with behavior_cloning.Trainer(config) as trainer:
        for _ in trainer():
            pass
    return trainer.model


def _found(log: Any) -> dict[str, float]:
    names = ("success_rate", "episode_return", "episode_length")
    return {name: round(float(log["logs"][name]), 4) for name in names}


def table(runs: Runs) -> Table:
    """Of a task that is learned by rewards alone."""
    row = [str(len(runs)), spread(values(runs, "final", "success_rate"), ".3f", ".2f")]
    row.append(f"{mean(runs, 'final', 'episode_length'):.0f}")
    row.append(f"{mean(runs, 'processor_seconds'):.0f}")
    return ["seeds", "success", "steps to the goal", "processor seconds"], [row]


def table_of_clones(runs: Runs) -> Table:
    """Of a task that a clone of its expert goes on with."""
    row = [str(len(runs)), f"{mean(runs, 'first', 'success_rate'):.3f}"]
    row.append(f"{mean(runs, 'first', 'episode_return'):.0f}")
    row.append(spread(values(runs, "final", "success_rate"), ".2f"))
    row.append(f"{mean(runs, 'final', 'episode_return'):.0f}")
    row += [f"{mean(runs, f'{of}_seconds'):.0f}" for of in ("cloning", "processor")]
    header = ["seeds", "cloned, success", "cloned, return", "success", "return"]
    return [*header, "processor seconds, cloning", "PPO"], [row]


def learned(runs: Runs, least: float, enough: float) -> list[Demand]:
    found = values(runs, "final", "success_rate")
    return [
        at_least("least success rate of a seed", min(found), least),
        at_least("mean success rate", mean(runs, "final", "success_rate"), enough),
    ]


def improved(runs: Runs) -> list[Demand]:
    words = "how much higher its return is than the clone's, in the worst seed"
    first, final = (values(runs, of, "episode_return") for of in ("first", "final"))
    return [at_least(words, min(final) - max(first), 50)]


def draw(axes: Any, runs: Runs) -> None:
    names = "sample_step", runs[0]["shown"]
    curves = [[[at[name] for name in names] for at in run["curve"]] for run in runs]
    lines(axes, {runs[0]["algorithm"]: curves})


def claim(task: str, statement: str, case: dict[str, Any], **of: Any) -> Trial:
    settings = {"algorithm": case["algorithm"], "tuned": task, "episodes": EPISODES}
    cases = [{"tuned": task, **case}]
    of = {"name": f"robots-{task}", "settings": settings, "cases": cases, **of}
    return Trial(statement=statement, run=train, draw=draw, **of)


SAC = {"algorithm": "sac", "shown": "success_rate"}
SUCCEEDS = "share of episodes that succeed"
CLAIMS = [
    claim(
        "reach",
        "SAC learns to reach any goal of Meta-World's reach-v3 within an hour of two"
        " cores.",
        SAC,
        table=table,
        judge=lambda runs: learned(runs, 0.95, 0.98),
        axes={
            "title": "Meta-World's reach-v3 by SAC",
            "xlabel": "environment steps",
            "ylabel": SUCCEEDS,
        },
    ),
    claim(
        "push",
        "SAC learns to push a puck to any goal of Meta-World's push-v3 within an hour"
        " of two cores.",
        SAC,
        table=table,
        judge=lambda runs: learned(runs, 0.9, 0.95),
        axes={
            "title": "Meta-World's push-v3 by SAC",
            "xlabel": "environment steps of four actions each",
            "ylabel": SUCCEEDS,
        },
    ),
    claim(
        "push_t",
        "From a clone of its expert, PPO brings the T nearer to its place than the"
        " clone does.",
        {"algorithm": "ppo", "shown": "episode_return", "clones": True},
        table=table_of_clones,
        judge=improved,
        axes={
            "title": "Push-T by PPO, from a clone",
            "xlabel": "environment steps",
            "ylabel": "return of an episode",
        },
    ),
]


if __name__ == "__main__":
    main(CLAIMS)
