"""The interquartile mean of several tasks, and its stratified bootstrap interval."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from yieldrl.algorithms import q_learning
from yieldrl.envs import policy_evaluation, value_iteration


def iqm(scores: np.ndarray) -> float:
    """The interquartile mean of scores `[tasks, runs]`, all tasks pooled."""
    ordered = np.sort(scores, axis=None)
    cut = len(ordered) // 4
    return float(ordered[cut : len(ordered) - cut].mean())


def resample(scores: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Scores `[tasks, runs]`, each task's drawn from its own runs."""
    drawn = rng.integers(scores.shape[1], size=scores.shape)
    return np.take_along_axis(scores, drawn, axis=1)


def interval(
    scores: np.ndarray, rng: np.random.Generator, resamples: int = 2000
) -> tuple[float, float]:
    """The 95 % bootstrap interval of the interquartile mean."""
    found = [iqm(resample(scores, rng)) for _ in range(resamples)]
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)


def trained(runs: int, total_steps: int) -> np.ndarray:
    """Scores `[2, runs]` of Q-learning on a slippery lake and on a firm one.

    A score is what the greedy policy is worth at the start, exactly, as a share of what
    the best policy is worth there. So the two tasks may be pooled.
    """
    return np.array(
        [
            [score(is_slippery, seed, total_steps) for seed in range(runs)]
            for is_slippery in (True, False)
        ]
    )


def score(is_slippery: bool, seed: int, total_steps: int) -> float:
    """One run, in short."""
    config = q_learning.Config(
        env_kwargs={"is_slippery": is_slippery},
        num_envs=8,
        total_steps=total_steps,
        eval_every=0,
        seed=seed,
    )
    trainer = q_learning.Trainer(config)
    for _ in trainer():
        pass
    lake: Any = gymnasium.make(config.env_id, **config.env_kwargs).unwrapped
    policy = trainer.model.table.argmax(1).numpy()
    best, _ = value_iteration(lake.P, config.gamma)
    return float(policy_evaluation(lake.P, policy, config.gamma)[0] / best[0])


if __name__ == "__main__":
    scores = trained(runs=10, total_steps=6_000)
    low, high = interval(scores, np.random.default_rng(5))
    print(f"slippery {np.sort(scores[0]).round(2)}")
    print(f"firm     {np.sort(scores[1]).round(2)}")
    print(f"IQM {iqm(scores):.2f}, 95 % interval {low:.2f} to {high:.2f}")
