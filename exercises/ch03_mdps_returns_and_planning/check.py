"""What holds of a sweep of value iteration."""

from typing import Any

import gymnasium
import numpy as np

from yieldrl.envs.planning import Outcome
from yieldrl.exercises.cases import Chapter

GAMMA, LIMIT = 0.9, 100  # Gymnasium cuts an episode on the lake after 100 steps
# what the states of the small worlds below were thought to be worth
VALUE = np.array([4.0, 10.0, 2.0, 6.0])


def _world(*choices: list[Outcome]) -> list[Any]:
    """Arguments of `sweep`: four states, and something to choose in the first."""
    stay = {state: {0: [(1.0, state, 0.0, False)]} for state in range(1, 4)}
    return [{0: dict(enumerate(choices)), **stay}, VALUE, GAMMA]


def lake(answer: Any) -> tuple[np.ndarray, float]:
    """What planning says of the lake, and how often its policy arrives in time."""
    table = gymnasium.make("FrozenLake-v1").unwrapped.P  # pyright: ignore
    with np.errstate(all="ignore"):  # wrong values may grow without end
        value = answer.plan(table, 0.99)
        policy = answer.greedy(table, value, 0.99)
    moves = np.zeros((len(table), len(table)))
    for state, action in enumerate(policy):
        for probability, next_state, _, _ in table[state][action]:
            moves[state, next_state] += probability
    return value, np.linalg.matrix_power(moves, LIMIT)[0, -1]


GOOD, BAD = [(1.0, 1, 5.0, False)], [(1.0, 2, 5.0, False)]
AROUND = [{s: {0: [(1.0, (s + 3) % 4, 1.0, False)]} for s in range(4)}, VALUE, GAMMA]
CHAPTER = Chapter(__name__)
CHAPTER.same(
    "sweep",
    "With one action and one outcome it is r + gamma V(s')",
    _world([(1.0, 1, 3.0, False)]),
    "Of all that can follow the mean counts, weighed by probability",
    _world([(0.75, 1, 1.0, False), (0.25, 3, 20.0, False)]),
    "Of all actions the best one counts, even if it is a loss",
    _world(GOOD, BAD),
    _world(BAD, GOOD),
    _world([(1.0, 2, -8.0, False)], [(1.0, 2, -3.0, False)]),
    "A terminated outcome has its reward, and no future",
    _world([(0.5, 1, 4.0, True), (0.5, 3, 1.0, False)]),
    "All states are updated from the old values",
    AROUND,
    named="value",
)
CHAPTER.constant("The old values stay as they were", ("sweep", AROUND))
CHAPTER.same(
    lake,
    "On FrozenLake the start is worth 0.54, and 74 % of greedy episodes arrive",
    (),
    named=("value", "share of episodes that arrive"),
)
