"""Chapter 4's second figure: where SARSA and Q-learning walk, for every epsilon.

Both tables are exact. Q-learning's is the best there is, for any epsilon. SARSA's is
that of the best policy among those that take every epsilon-th action at random: values
of the policy by the library's `policy_evaluation`, then a greedier policy, and so on
until nothing changes.
"""

from typing import Any

import numpy as np

from yieldrl.envs import policy_evaluation, value_iteration
from yieldrl.envs.planning import Table

from . import drawing as svg
from .drawing import Frame, Grid
from .frozen_lake import thirds, transitions

EPSILONS = [0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4]
START, GOAL = 36, 47
GRID = Grid(12, 40, 4, 6)  # as drawn


def figure() -> dict[str, Any]:
    """All frames: an epsilon each."""
    table: Table = transitions("CliffWalking-v1")
    return svg.figure(
        size=(488, 192),
        svg=svg.drawn("cliff_walks"),
        controls={"ε": svg.labelled(EPSILONS, ".2f")},
        start=("0.10",),
        frame=lambda epsilon: frame(table, epsilon),
    )


def frame(table: Table, epsilon: float) -> Frame:
    """Both walks, and what they earn, for one epsilon."""
    tables = {"SARSA": sarsa_table(table, epsilon)}
    tables["Q-learning"] = q_learning_table(table)
    walks, said = [], []
    for name, q_value in tables.items():
        walks.append(walk(table, q_value))
        exploring, calm = (value(table, q_value, at) for at in (epsilon, 0.0))
        said.append(
            f"{name}: {len(walks[-1]) - 1} steps, return while exploring"
            f" {exploring:.1f}, without {calm:.0f}"
        )
    text = f"ε = {epsilon:.2f}. {'; '.join(said)}."
    return {
        "careful d": moved(walks[0], -3),
        "bold d": moved(walks[1], 3),
        "says text": text.replace(" -", " \N{MINUS SIGN}"),
    }


def q_learning_table(table: Table) -> np.ndarray:
    """What Q-learning converges to, `[S, A]`: the best, explored or not."""
    return value_iteration(table, gamma=1.0)[1]


def sarsa_table(table: Table, epsilon: float) -> np.ndarray:
    """What SARSA converges to with a constant epsilon, `[S, A]`."""
    q_value = q_learning_table(table)
    if epsilon == 0:
        return q_value
    after, reward, ended = thirds(table)
    while True:
        greedy = q_value.argmax(1)
        values = policy_evaluation(table, exploring(q_value, epsilon), gamma=1.0)
        q_value = (reward + values[after] * ~ended).mean(2)
        if (q_value.argmax(1) == greedy).all():
            return q_value


def exploring(q_value: np.ndarray, epsilon: float) -> np.ndarray:
    """Probability of every action, `[S, A]`: epsilon-greedy."""
    return epsilon / 4 + (1 - epsilon) * np.eye(4)[q_value.argmax(1)]


def value(table: Table, q_value: np.ndarray, epsilon: float) -> float:
    """The mean return of the table's policy from the start, with so much exploring."""
    if epsilon == 0:  # a greedy policy need not arrive from everywhere, but from here
        return -float(len(walk(table, q_value)) - 1)
    policy = exploring(q_value, epsilon)
    return float(policy_evaluation(table, policy, gamma=1.0)[START])


def walk(table: Table, q_value: np.ndarray) -> list[int]:
    """The states from start to goal if nothing is left to chance."""
    states = [START]
    while states[-1] != GOAL:
        states.append(table[states[-1]][int(q_value[states[-1]].argmax())][0][1])
    return states


def moved(states: list[int], by: int) -> str:
    """A walk, moved aside a little, so that two of them can be seen."""
    return svg.joined((x + by, y + by) for x, y in map(GRID.middle, states))
