"""Chapter 4's second figure: where SARSA and Q-learning walk, for every epsilon.

Both tables are exact. Q-learning's is the best there is, for any epsilon. SARSA's is
that of the best policy among those that take every epsilon-th action at random: values
of the policy by the library's `policy_evaluation`, then a greedier policy, and so on
until nothing changes.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from yieldrl.envs import policy_evaluation, value_iteration
from yieldrl.envs.planning import Table

EPSILONS = [0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4]
START, GOAL, COLUMNS = 36, 47, 12
SIDE, LEFT, TOP = 40, 4, 6  # of a field, and of the grid's corner, in pixels
CAPTION = """\
CliffWalking: every step costs 1; one onto the grey fields costs 100 and leads to S.
Dashed: the walk of Q-learning. Solid: that of SARSA. With probability ε a step goes
anywhere; the walks are drawn without such steps. Both are exact: what the tables become
after endless practice with that ε and an ever smaller learning rate."""


def figure() -> dict[str, Any]:
    """All frames: an epsilon each."""
    table: Table = gymnasium.make("CliffWalking-v1").unwrapped.P  # pyright: ignore
    shown = [frame(table, epsilon) for epsilon in EPSILONS]
    start = EPSILONS.index(0.1)
    return {
        "title": "Two walks along the cliff, for every probability of a random step",
        "caption": CAPTION,
        "size": (488, 192),
        "svg": drawing(shown[start]),
        "controls": {"ε": [f"{epsilon:.2f}" for epsilon in EPSILONS]},
        "start": (start,),
        "parts": [(".careful", "d"), (".bold", "d"), (".says", "text")],
        "frames": shown,
    }


def frame(table: Table, epsilon: float) -> list[Any]:
    """Both walks, and what they earn, for one epsilon."""
    bold, careful = q_learning_table(table), sarsa_table(table, epsilon)
    walks = walk(table, careful), walk(table, bold)
    earned = [
        [value(table, q_value, at) for at in (epsilon, 0.0)]
        for q_value in (careful, bold)
    ]
    said = "; ".join(
        f"{name}: {len(states) - 1} steps, return while exploring {exploring:.1f},"
        f" without {calm:.0f}"
        for name, states, (exploring, calm) in zip(
            ("SARSA", "Q-learning"), walks, earned, strict=True
        )
    )
    lines = [line(states, by) for states, by in zip(walks, (-3, 3), strict=True)]
    return [*lines, f"ε = {epsilon:.2f}. {said}.".replace(" -", " \N{MINUS SIGN}")]


def q_learning_table(table: Table) -> np.ndarray:
    """What Q-learning converges to, `[S, A]`: the best, explored or not."""
    return value_iteration(table, gamma=1.0)[1]


def sarsa_table(table: Table, epsilon: float) -> np.ndarray:
    """What SARSA converges to with a constant epsilon, `[S, A]`."""
    q_value = q_learning_table(table)
    if epsilon == 0:
        return q_value
    while True:
        greedy = q_value.argmax(1)
        values = policy_evaluation(table, exploring(q_value, epsilon), gamma=1.0)
        q_value = np.array(
            [
                [
                    sum(
                        p * (r + values[after] * (not ended))
                        for p, after, r, ended in of
                    )
                    for of in actions.values()
                ]
                for actions in table.values()
            ]
        )
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


def drawing(first: list[Any]) -> str:
    """The grid, and both walks as the first frame has them."""
    fields = "".join(
        f'<rect class="{"dot" if START < state < GOAL else "axis"}"'
        f' x="{x - SIDE // 2}" y="{y - SIDE // 2}" width="{SIDE}" height="{SIDE}"/>'
        for state, (x, y) in ((state, place(state)) for state in range(48))
    )
    letters = "".join(
        f'<text x="{x + by}" y="{y + 14}" text-anchor="middle">{letter}</text>'
        for letter, by, (x, y) in (("S", -13, place(START)), ("G", 13, place(GOAL)))
    )
    careful, bold, _ = first
    return (
        f"{fields}{letters}"
        f'<path class="careful blue line" d="{careful}"/>'
        f'<path class="bold red line dashed" d="{bold}"/>'
        f'<g aria-hidden="true">{legend()}</g>'
    )


def legend() -> str:
    """What the two lines are."""
    looks = (("blue", "SARSA", 120), ("red dashed", "Q-learning", 270))
    return "".join(
        f'<path class="{look} line" d="M{x} 182h26"/>'
        f'<text x="{x + 32}" y="186">{name}</text>'
        for look, name, x in looks
    )


def line(states: list[int], by: int) -> str:
    """A walk, moved aside a little, so that two of them can be seen."""
    return "M" + "L".join(f"{x + by} {y + by}" for x, y in map(place, states))


def place(state: int) -> tuple[int, int]:
    """Pixels of the middle of a field."""
    row, column = divmod(state, COLUMNS)
    return LEFT + SIDE // 2 + SIDE * column, TOP + SIDE // 2 + SIDE * row
