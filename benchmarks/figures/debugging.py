"""Of six bugs in PPO that raise no error four show in a reading on CartPole, and two in
worlds whose answer is known.

The bugs are those of `exercises/ch14_debugging`. All runs are stopped half way, saved,
and go on from what was saved.
"""

import statistics
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import torch

from yieldrl.algorithms import ppo
from yieldrl.benchmarks import figure
from yieldrl.exercises.ch14_debugging import diagnostics as ch14

SAYS = figure.said("debugging-cartpole", __doc__)
READINGS = ("return", "promised", "entropy", "approx_kl", "explained_variance")
# where the config differs from PPO's defaults; it evaluates after three rollouts
SETTINGS: dict[str, Any] = {"eval_every": 1_536, "num_epochs": 8, "gae_lambda": 0.9}
SETTINGS |= {"entropy_coef": 0.05, "normalize_observation": True, "device": "cpu"}


def measure(seed: int, steps: int = 30_720) -> dict[str, Any]:
    """PPO's readings and those of the six folders. "promised" is the value of the
    upright pole, less the discounted return of episodes since the last evaluation."""
    classes = {"right": ppo.Trainer, **{of: ch14.trainer_of(of) for of in ch14.FOLDERS}}
    numbers, lines = {}, {}
    for name, trainer_class in classes.items():
        found = [*watched(trainer_class, seed, steps)]
        for reading in READINGS:
            line = [[at, round(of[reading], 5)] for at, of in found if reading in of]
            lines[f"{name}, {reading}"] = line
        numbers[f"sides, {name}"] = ch14.known_sides(trainer_class, seed)
        numbers[f"undecided, {name}"] = ch14.indecision(trainer_class, seed)
    return {"seed": seed, "numbers": numbers, "series": lines}


def watched(trainer_class: Any, seed: int, steps: int) -> Iterator[Any]:
    """Train, save and load half way, go on."""
    with trainer_class(ppo.Config(**SETTINGS, total_steps=steps, seed=seed)) as trainer:
        yield from looks(trainer, until=steps // 2)
        with tempfile.TemporaryDirectory() as folder:
            restored = trainer_class.load(trainer.save(f"{folder}/checkpoint.pt"))
    with restored:
        yield restored.agent.sample_step, {"return": figure.score(restored, 10)}
        yield from looks(restored, until=steps)


def looks(trainer: Any, until: int) -> Iterator[Any]:
    """At every evaluation, the steps, and the readings since the one before."""
    seen, gamma = defaultdict(list), trainer.config.gamma
    for log in trainer():
        logs = log["logs"]
        if log["log_type"] == "collect" and "episode_length" in logs:
            earned = (1 - gamma ** float(logs["episode_length"])) / (1 - gamma)
            seen["promised"].append(-earned)
        for name in logs.keys() & READINGS:
            seen[name].append(float(logs[name]))
        if log["log_type"] == "evaluate":
            look = {name: statistics.mean(of) for name, of in seen.items()}
            if "promised" in look:
                scale = trainer.algorithm.reward_scaler.moments.var.sqrt()
                upright = trainer.model.get_value(torch.zeros(1, 4))[0].detach()
                look["promised"] += float(upright * scale)
            yield log["sample_step"], look | {"return": float(logs["episode_return"])}
            seen.clear()
            if log["sample_step"] >= until:
                return


if __name__ == "__main__":
    figure.main(SAYS, measure, draw=None)
