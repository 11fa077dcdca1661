"""What holds of epsilon-greedy choices and of incremental means."""

from typing import Any

import numpy as np

from yieldrl.algorithms import q_learning
from yieldrl.exercises.cases import Chapter
from yieldrl.exercises.comparing import expect

DRAWS = 2_000  # choices of which shares are taken: hardly ever is one off by 0.04


def chance(answer: Any) -> None:
    """All chance comes from `rng`, and the values stay as they were."""
    value = np.array([1.0, 3.0, 3.0, 0.0])
    one, other = (_choices(answer, value.copy(), 0.5, 50, seed=7) for _ in range(2))
    hint = "draw from rng alone: else no run can be repeated"
    expect(one == other, "two generators with one seed led to different choices", hint)
    CHAPTER.leaves(answer, "epsilon_greedy", (value, 0.5, np.random.default_rng(7)))


def _choices(
    answer: Any, value: np.ndarray, epsilon: float, count: int, seed: int = 2
) -> list[int]:
    rng, chosen = np.random.default_rng(seed), []
    for _ in range(count):
        action = answer.epsilon_greedy(value, epsilon, rng)
        kind = type(action).__name__
        expect(action is not None, "it returned None", "does it return its action?")
        whole = isinstance(action, int | np.integer)
        expect(whole, f"it returned {action!r}, a {kind}; expected the number, an int")
        exists = 0 <= action < len(value)
        expect(exists, f"it chose {action}, of {len(value)} actions from 0 on")
        chosen.append(int(action))
    return chosen


def _shares(answer: Any, value: list[float], epsilon: float) -> np.ndarray:
    chosen = _choices(answer, np.array(value), epsilon, DRAWS)
    found = np.bincount(chosen, minlength=len(value)) / DRAWS
    best = np.array(value) == max(value)
    right = epsilon / len(value) + (1 - epsilon) * best / best.sum()
    return right if np.allclose(found, right, atol=0.05) else found


def _updated(
    answer: Any, value: list[float], steps: list[tuple[int, float]]
) -> tuple[np.ndarray, np.ndarray]:
    values, count = np.array(value), np.zeros(len(value))
    with np.errstate(all="ignore"):  # 1 / 0 is a mistake that has a hint
        for action, reward in steps:
            answer.update(values, count, action, reward)
    unchanged = "nothing changed: change the arrays in place, value[action] += ..."
    expect(values.tolist() != value, f"value[0] is {value[0]:.5g}", unchanged)
    return values, count


CHAPTER = Chapter(__name__)
CHAPTER.same(
    _shares,
    "With epsilon 0 the best action is taken, always",
    ([-3.0, -1.0, -1.0 - 1e-6, -2.0], 0.0),
    "Of several best actions each is as likely as the others",
    ([1.0, 3.0, 3.0, 0.0, 3.0], 0.0),
    ([0.0] * 4, 0.0),
    "With epsilon 1 all actions are equally likely, the best one too",
    ([0.0, 2.0, 1.0, 0.0], 1.0),
    "In between the best one is taken with probability 1 - epsilon + epsilon / A",
    ([0.0, 2.0, 1.0, 0.0], 0.4),
    named="share of choices",
    tolerance=0.05,
)
CHAPTER.holds(chance)
CHAPTER.same(
    _updated,
    "An action's first reward is its value, whatever was there, and only its own",
    ([5.0, 1.0, -1.0], [(0, 2.0)]),
    "After n rewards a value is their mean, and `count` is n",
    ([0.0] * 3, [(1, 4.0), (0, 1.0), (1, 0.0), (1, 2.0), (0, 0.0), (1, -3.0)]),
    named=("value", "count"),
)
CHAPTER.trains(
    "Q-learning that uses `update` moves its table as the library's own",
    {"num_envs": 2, "total_steps": 600, "visit_power": 1.0, "seed": 2},
    Algorithm=q_learning,
)
