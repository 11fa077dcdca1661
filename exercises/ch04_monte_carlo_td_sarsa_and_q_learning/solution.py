"""Q-learning and SARSA with a table, their targets written out."""

from torch import Tensor


def q_learning_target(
    table: Tensor,
    state: Tensor,
    action: Tensor,
    reward: Tensor,
    next_state: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float,
) -> Tensor:
    """What Q-learning moves `Q(s, a)` towards, `[B]`, for transitions `[B]`."""
    best = table[next_state].amax(1)
    return reward + gamma * best * ~terminated


def sarsa_target(
    table: Tensor,
    state: Tensor,
    action: Tensor,
    reward: Tensor,
    next_state: Tensor,
    next_action: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float,
) -> Tensor:
    """What SARSA moves `Q(s, a)` towards, `[B]`, for transitions `[B]`."""
    taken = table[next_state, next_action]
    future = taken * ~terminated
    return reward + gamma * future
