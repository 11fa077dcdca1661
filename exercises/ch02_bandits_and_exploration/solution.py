"""Epsilon-greedy choices and incremental means, written out."""

import numpy as np


def epsilon_greedy(value: np.ndarray, epsilon: float, rng: np.random.Generator) -> int:
    """An action, random with probability epsilon, one of the best otherwise."""
    if rng.random() < epsilon:
        return int(rng.integers(len(value)))
    best = np.flatnonzero(value == value.max())
    return int(rng.choice(best))


def update(value: np.ndarray, count: np.ndarray, action: int, reward: float) -> None:
    """Move the action's value to the mean of its rewards, `[A]`, in place."""
    count[action] += 1
    value[action] += (reward - value[action]) / count[action]
