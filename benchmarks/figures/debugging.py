"""What the six silent bugs of `exercises/ch14_debugging` look like on CartPole, beside
PPO as it is. All runs are stopped half way, saved, and go on from what was saved."""

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from yieldrl.algorithms import ppo
from yieldrl.benchmarks import figure
from yieldrl.exercises.ch14_debugging import diagnostics

SAYS = {
    "debugging-cartpole": (
        "Of six bugs in PPO that raise no error four show in a reading on CartPole,"
        " and two in worlds whose answer is known."
    ),
}
LOGGED = ("entropy", "approx_kl", "explained_variance")
READINGS = ("return", "promised", *LOGGED)
# where the config differs from PPO's defaults; it evaluates after three rollouts
SETTINGS: dict[str, Any] = {"eval_every": 1_536, "num_epochs": 8, "gae_lambda": 0.9}
SETTINGS |= {"entropy_coef": 0.05, "normalize_observation": True, "device": "cpu"}


def measure(seed: int, steps: int = 30_720) -> dict[str, Any]:
    """PPO's readings and those of the six folders. "promised" is the value of the
    upright pole, less the discounted return of the episodes that ended since the
    evaluation before."""
    classes = {"right": ppo.Trainer}
    classes |= {name: diagnostics.trainer_of(name) for name in diagnostics.FOLDERS}
    numbers, lines = {}, {}
    for name, trainer_class in classes.items():
        found = watched(trainer_class, seed, steps)
        lines |= {f"{name}, {reading}": line for reading, line in found.items()}
        numbers[f"sides, {name}"] = diagnostics.known_sides(trainer_class, seed)
        numbers[f"undecided, {name}"] = diagnostics.indecision(trainer_class, seed)
    return {"seed": seed, "numbers": numbers, "series": lines}


def watched(trainer_class: Any, seed: int, steps: int) -> dict[str, list[list[float]]]:
    """Train, save and load half way, go on; the lines of all readings."""
    config = ppo.Config(**SETTINGS, total_steps=steps, seed=seed)
    with trainer_class(config) as trainer:
        found = [*looks(trainer, until=steps // 2)]
        with tempfile.TemporaryDirectory() as folder:
            path = trainer.save(Path(folder) / "checkpoint.pt")
            restored = trainer_class.load(path)
    with restored:
        score = float(restored.evaluate(10)["logs"]["episode_return"])
        found.append({"step": restored.agent.sample_step, "return": score})
        found += looks(restored, until=steps)
    return {
        name: [[look["step"], round(look[name], 5)] for look in found if name in look]
        for name in READINGS
    }


def looks(trainer: Any, until: int) -> Iterator[dict[str, float]]:
    """At every evaluation, what was seen since the one before."""
    seen: dict[str, list[float]] = {name: [] for name in (*LOGGED, "earned")}
    for log in trainer():
        logs = log["logs"]
        if log["log_type"] == "collect" and "episode_length" in logs:
            gamma, length = trainer.config.gamma, float(logs["episode_length"])
            seen["earned"].append((1 - gamma**length) / (1 - gamma))
        for name in LOGGED:
            if log["log_type"] == "train" and name in logs:
                seen[name].append(float(logs[name]))
        if log["log_type"] != "evaluate":
            continue
        look = {name: statistics.mean(of) for name, of in seen.items() if of}
        if "earned" in look:
            look["promised"] = value(trainer) - look.pop("earned")
        score = float(logs["episode_return"])
        yield look | {"step": log["sample_step"], "return": score}
        seen = {name: [] for name in seen}
        if log["sample_step"] >= until:
            return


@torch.inference_mode()
def value(trainer: Any) -> float:
    """The critic's value of the upright pole, in units of rewards."""
    scale = trainer.algorithm.reward_scaler.moments.var.sqrt()
    return float(trainer.model.get_value(torch.zeros(1, 4))[0] * scale)


table = figure.numbers


if __name__ == "__main__":
    figure.main(SAYS, measure, table, None)
