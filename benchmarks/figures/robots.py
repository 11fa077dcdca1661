"""Tuned files for a robot's task, seed by seed, judged in 100 episodes at the end."""

import time
from typing import Any

from yieldrl.benchmarks import figure
from yieldrl.benchmarks.style import lines
from yieldrl.benchmarks.tasks import make_trainer

SAC = "SAC learns to {} any goal of Meta-World's {} within an hour of two cores."
SAYS = {
    "robots-reach": SAC.format("reach", "reach-v3"),
    "robots-push": SAC.format("push a puck to", "push-v3"),
    "robots-push_t": "From a clone of its expert, PPO brings the T nearer to its place"
    " than the clone does.",
}
FOUND = ("success_rate", "episode_return", "episode_length")
EPISODES = 100


def measure(seed: int, name: str, **fields: Any) -> dict[str, Any]:
    """Train one seed with the tuned file's settings, and evaluate it; Push-T begins
    from a clone of the task's expert, by the file of that name."""
    algorithm, model, tuned = "sac", None, name.partition("-")[2]
    fields = {"seed": seed, **fields}
    if tuned == "push_t":
        algorithm = "ppo"
        with make_trainer("behavior_cloning", fields, tuned) as cloning:
            figure.trained(cloning)
        model = cloning.model
    with make_trainer(algorithm, fields, tuned, model=model) as trainer:
        first = found(trainer.evaluate(EPISODES))
        curve = [{"sample_step": 0, **first}]
        begin = time.process_time()
        for log in trainer():
            if log["log_type"] == "evaluate":
                curve.append({"sample_step": log["sample_step"], **found(log)})
        seconds = round(time.process_time() - begin, 2)
        final = found(trainer.evaluate(EPISODES))
    run = {"seed": seed, "algorithm": algorithm, "first": first, "curve": curve}
    return {**run, "final": final, "processor_seconds": seconds}


def found(log: Any) -> dict[str, float]:
    return {name: round(float(log["logs"][name]), 4) for name in FOUND}


def table(runs: figure.Runs) -> figure.Table:
    """Before and after training; before it Push-T's policy is a clone."""
    rows: list[list[str]] = []
    for when in ("first", "final"):
        row = [figure.spread(figure.values(runs, when, FOUND[0]), ".2f")]
        row += [f"{figure.mean(runs, when, name):.0f}" for name in FOUND[1:]]
        taken = figure.mean(runs, "processor_seconds")
        rows.append([when, *row, f"{taken:.0f}" if when == "final" else " "])
    return ["", "success", "return", "steps", "processor seconds"], rows


def draw(axes: Any, runs: figure.Runs) -> None:
    shown = "episode_return" if runs[0]["algorithm"] == "ppo" else "success_rate"
    curves = [[[at["sample_step"], at[shown]] for at in run["curve"]] for run in runs]
    lines(axes, {runs[0]["algorithm"]: curves})
    axes.set(xlabel="environment steps", ylabel=shown.replace("_", " "))


if __name__ == "__main__":
    figure.main(SAYS, measure, table, draw)
