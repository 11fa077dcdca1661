"""Chapter 3, MDPs, returns and planning."""

import numpy as np

from yieldrl.envs.planning import Table


def sweep(table: Table, value: np.ndarray, gamma: float) -> np.ndarray:
    """One sweep of value iteration: values `[S]` to better values `[S]`.

    Args:
        table: State -> action -> all that can follow, each as `(probability,
            next_state, reward, terminated)`.
        value: What the states were thought to be worth.
        gamma: Discount.

    Returns:
        A new array; every state is updated from the old values, which stay as they are.
    """
    new = np.zeros_like(value)
    # The gap. Three loops, one in the other: states, actions, and what can follow:
    #   Q(s, a) = sum of  p (r + gamma V(s'))    a terminated outcome has no V(s')
    #   V(s)    = the largest Q(s, a)            every action of the state is asked
    # gap: loop over states, actions and what can follow them
    for state, actions in table.items():
        worth = []
        for outcomes in actions.values():
            q_value = 0.0
            for probability, next_state, reward, terminated in outcomes:
                future = 0.0 if terminated else value[next_state]
                q_value += probability * (reward + gamma * future)
            worth.append(q_value)
        new[state] = max(worth)
    # end
    return new


def plan(table: Table, gamma: float, tolerance: float = 1e-8) -> np.ndarray:
    """Sweep zeros until no value changes any more: `V* [S]`."""
    value = np.zeros(len(table))
    for _ in range(2_000):
        previous, value = value, sweep(table, value, gamma)
        if np.abs(value - previous).max() < tolerance:
            break
    return value


def greedy(table: Table, value: np.ndarray, gamma: float) -> np.ndarray:
    """The best action in every state, if these values were right: `[S]`.

    What an action is worth is what a sweep says of a world in which there is no other.
    """
    worlds = [{s: {0: table[s][a]} for s in table} for a in range(len(table[0]))]
    return np.stack([sweep(of, value, gamma) for of in worlds], 1).argmax(1)
