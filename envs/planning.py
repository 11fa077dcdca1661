"""Planning: exact values for a known transition table, such as `env.unwrapped.P` of
Gymnasium's FrozenLake, CliffWalking and Taxi."""

from collections.abc import Mapping, Sequence

import numpy as np

Outcome = tuple[float, int, float, bool]
"""Probability, next state, reward, and whether the episode ends there."""

Table = Mapping[int, Mapping[int, Sequence[Outcome]]]
"""State -> action -> all outcomes."""


def value_iteration(
    table: Table, gamma: float, tolerance: float = 1e-10
) -> tuple[np.ndarray, np.ndarray]:
    """The optimal values: `V* [S]` and `Q* [S, A]`.

    Bellman's optimality equation, applied until all values change by less than
    `tolerance` (Bellman 1957; Sutton & Barto 2018, equation 4.10):

        V(s) = max_a sum_s' p(s' | s, a) (r + gamma V(s'))

    ValueError if the values diverge, which is possible if `gamma` is 1.

    >>> walk = {0: {0: [(1.0, 0, -1.0, False)], 1: [(0.5, 0, 0.0, False),
    ...                                             (0.5, 1, 1.0, True)]},
    ...         1: {0: [(1.0, 1, 0.0, True)], 1: [(1.0, 1, 0.0, True)]}}
    >>> V, Q = value_iteration(walk, gamma=0.9)
    >>> V.round(4).tolist()  # V = 0.5 * 0.9 V + 0.5 * 1
    [0.9091, 0.0]
    """
    follow, reward = _arrays(table)
    value = np.zeros(len(table))
    for _ in range(MAX_SWEEPS):
        q_value = reward + gamma * follow @ value
        previous, value = value, q_value.max(1)
        if np.abs(value - previous).max() < tolerance:
            return value, q_value
    raise ValueError(
        f"gamma = {gamma}: the values still change after {MAX_SWEEPS:,} sweeps; choose"
        " a smaller one"
    )


def policy_evaluation(table: Table, policy: np.ndarray, gamma: float) -> np.ndarray:
    """The value of a policy in every state, `V [S]`, exactly.

    Bellman's equation is linear in the values of a given policy (Sutton & Barto 2018,
    equation 4.4), so it is solved directly: `V = (I - gamma P)^-1 r`.

    Args:
        table: All outcomes of all actions in all states.
        policy: An action for every state, `[S]` integers, or the probability of every
            action in every state, `[S, A]`.
        gamma: Discount. With 1, ValueError unless the policy reaches an end from
            every state.
    """
    follow, reward = _arrays(table)
    if policy.ndim == 1:
        policy = np.eye(reward.shape[1])[policy]
    transition = np.einsum("sa,sat->st", policy, follow)
    if gamma == 1 and not _ends(transition).all():
        raise ValueError(
            f"gamma = {gamma}: from some states this policy goes on for ever; choose a"
            " smaller gamma, or a policy that explores"
        )
    left = np.eye(len(table)) - gamma * transition
    return np.linalg.solve(left, (policy * reward).sum(1))


MAX_SWEEPS = 100_000


def _arrays(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of non-terminal next states `[S, A, S]`; mean reward `[S, A]`."""
    follow = np.zeros((len(table), len(table[0]), len(table)))
    reward = np.zeros(follow.shape[:2])
    for state, actions in table.items():
        for action, outcomes in actions.items():
            for probability, next_state, earned, terminated in outcomes:
                reward[state, action] += probability * earned
                follow[state, action, next_state] += probability * (not terminated)
    return follow, reward


def _ends(transition: np.ndarray) -> np.ndarray:
    """Whether an episode from each state can end, bool `[S]`."""
    ends = transition.sum(1) < 1 - 1e-9
    for _ in transition:
        ends = ends | transition[:, ends].any(1)
    return ends
