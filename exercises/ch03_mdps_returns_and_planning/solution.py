"""Planning on a table, with its sweep written out."""

import numpy as np

from yieldrl.envs.planning import Table


def sweep(table: Table, value: np.ndarray, gamma: float) -> np.ndarray:
    """One sweep of value iteration: values `[S]` to better values `[S]`."""
    new = np.zeros_like(value)
    for state, actions in table.items():
        worth = []
        for outcomes in actions.values():
            q_value = 0.0
            for probability, next_state, reward, terminated in outcomes:
                future = 0.0 if terminated else value[next_state]
                q_value += probability * (reward + gamma * future)
            worth.append(q_value)
        new[state] = max(worth)
    return new
