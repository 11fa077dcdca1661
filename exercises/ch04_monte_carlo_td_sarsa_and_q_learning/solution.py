"""Chapter 4, Monte Carlo, TD, SARSA and Q-learning."""

from tensordict import TensorDict
from torch import Tensor

from yieldrl.algorithms import q_learning, sarsa


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
    """What Q-learning moves `Q(s, a)` towards, `[B]`, for transitions `[B]`.

    Args:
        table: `Q`, `[S, A]`: a row for every state, a column for every action.
        state: `s`, the number of the state.
        action: `a`, which was taken there.
        reward: `r`, what that earned.
        next_state: `s'`, the state that it led to; at the end of an episode that is its
            last one, not the first of the next.
        terminated: Bool; the episode ended there, and no future follows.
        truncated: Bool; it was cut there, though the world would have gone on.
        gamma: Discount.

    Returns:
        A new tensor; the arguments stay as they are. Not all of them are needed.
    """
    # The gap. r + gamma max_a' Q(s', a'); a terminated step has no future.
    # `table[next_state]` is a row for every transition, [B, A].
    # gap: Q-learning's target: take the best entry of row s'
    best = table[next_state].amax(1)
    return reward + gamma * best * ~terminated
    # end


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
    """What SARSA moves `Q(s, a)` towards, `[B]`, for transitions `[B]`.

    The arguments are those of `q_learning_target`, and one more, `next_action`: `a'`,
    what the agent is going to do in `s'`, exploring included.
    """
    # The gap. r + gamma Q(s', a'); a terminated step has no future here either.
    # gap: SARSA's target: take the entry of s' and a'
    taken = table[next_state, next_action]
    future = taken * ~terminated
    return reward + gamma * future
    # end


class QLearning(q_learning.Algorithm):
    """Q-learning that moves towards the first target."""

    def td_target(self, data: TensorDict) -> Tensor:
        """Targets `[B]` of transitions `[B]`."""
        state, next_state = map(self.model.state, (data["obs"], data["next_obs"]))
        step = state, data["action"], data["reward"], next_state
        rest = data["terminated"], data["truncated"], self.config.gamma
        return q_learning_target(self.model.table, *step, *rest).float()


class Sarsa(sarsa.Algorithm):
    """SARSA that moves towards the second target."""

    def td_target(self, data: TensorDict) -> Tensor:
        """Targets `[B]` of transitions `[B]`."""
        state, next_state = map(self.model.state, (data["obs"], data["next_obs"]))
        step = state, data["action"], data["reward"], next_state, data["next_action"]
        rest = data["terminated"], data["truncated"], self.config.gamma
        return sarsa_target(self.model.table, *step, *rest).float()
