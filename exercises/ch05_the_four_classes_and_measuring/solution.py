"""The interquartile mean of several tasks, and its stratified bootstrap interval."""

from typing import Any

import gymnasium
import numpy as np

from yieldrl.algorithms import q_learning
from yieldrl.envs import policy_evaluation, value_iteration
from yieldrl.exercises.training import logged


def iqm(scores: np.ndarray) -> float:
    """The interquartile mean of scores `[tasks, runs]`, all tasks pooled.

    Args:
        scores: A score for every run of every task, in no order; it stays as it is.

    Returns:
        The mean without the lowest and the highest quarter of all scores. A quarter is
        rounded down: of ten scores two are left out at each end.
    """
    # The gap. Pool, order, leave out, average; `np.sort` with `axis=None` does two.
    # gap: iqm: order all scores, leave a quarter out at each end
    ordered = np.sort(scores, axis=None)
    cut = len(ordered) // 4
    return float(ordered[cut : len(ordered) - cut].mean())
    # end


def resample(scores: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Scores `[tasks, runs]`, each task's drawn from its own runs.

    Args:
        scores: A score for every run of every task; it stays as it is.
        rng: Where all chance comes from.

    Returns:
        What other seeds might have given: each task has as many runs as before, drawn
        with replacement from the runs of that task (a stratum), each task by itself.
    """
    # The gap. Draw the numbers of runs, for each task its own: `rng.integers`.
    # gap: resample: draw runs of each task, with replacement
    drawn = rng.integers(scores.shape[1], size=scores.shape)
    return np.take_along_axis(scores, drawn, axis=1)
    # end


def interval(
    scores: np.ndarray, rng: np.random.Generator, resamples: int = 2000
) -> tuple[float, float]:
    """The 95 % bootstrap interval of the interquartile mean.

    Args:
        scores: A score for every run of every task.
        rng: Where all chance comes from.
        resamples: How often `resample` is called, with this rng.

    Returns:
        The 2.5 and the 97.5 percentile of the interquartile means of all resamples.
    """
    # The gap. Two lines: the IQM of every resample, and `np.percentile` of them.
    # gap: interval: percentiles of the IQMs of many resamples
    found = [iqm(resample(scores, rng)) for _ in range(resamples)]
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)
    # end


def score(is_slippery: bool, seed: int) -> float:
    """What Q-learning reaches on one of two lakes, in short.

    It is what the greedy policy is worth at the start, exactly, as a share of what the
    best policy is worth there. So the two tasks may be pooled.
    """
    world: dict[str, Any] = {"is_slippery": is_slippery}
    settings: dict[str, Any] = {"num_envs": 8, "total_steps": 6_000, "eval_every": 0}
    config = q_learning.Config(env_kwargs=world, seed=seed, **settings)
    trainer = q_learning.Trainer(config)
    logged(trainer)
    lake: Any = gymnasium.make(config.env_id, **world).unwrapped
    policy = trainer.model.table.argmax(1).numpy()
    best, _ = value_iteration(lake.P, config.gamma)
    return float(policy_evaluation(lake.P, policy, config.gamma)[0] / best[0])


if __name__ == "__main__":
    slippery, firm = (
        [score(lake, seed) for seed in range(10)] for lake in (True, False)
    )
    scores = np.array([slippery, firm])
    low, high = interval(scores, np.random.default_rng(5))
    print(f"slippery {np.sort(slippery).round(2)}")
    print(f"firm     {np.sort(firm).round(2)}")
    print(f"IQM {iqm(scores):.2f}, 95 % interval {low:.2f} to {high:.2f}")
