"""Chapter 2, bandits and exploration."""

import numpy as np
import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.abstractions import Logs
from yieldrl.algorithms import q_learning
from yieldrl.core import derive_seed


def epsilon_greedy(value: np.ndarray, epsilon: float, rng: np.random.Generator) -> int:
    """An action, random with probability epsilon, one of the best otherwise.

    Args:
        value: What each action is believed to be worth, `[A]`.
        epsilon: Probability of a random action, drawn from all of them alike.
        rng: What all chance comes from: `rng.random()`, `rng.integers(n)` and
            `rng.choice(several)`.

    Returns:
        The number of an action. Of several best ones each is as likely as the others.
    """
    # The gap. A coin first, which is random with probability epsilon; then either any
    # action, or one of those whose value is the largest. argmax would say the first.
    # gap: compare rng.random() with epsilon, then choose
    if rng.random() < epsilon:
        return int(rng.integers(len(value)))
    best = np.flatnonzero(value == value.max())
    return int(rng.choice(best))
    # end


def update(value: np.ndarray, count: np.ndarray, action: int, reward: float) -> None:
    """Move the action's value to the mean of its rewards; nothing else changes.

    Args:
        value: What each action is believed to be worth, `[A]`; changed in place.
        count: How many rewards each action has had, `[A]`; changed in place.
        action: What was done.
        reward: What it earned. For its first one, nothing of the old value is left.
    """
    # The gap, two lines:
    #   n(a) = n(a) + 1
    #   Q(a) = Q(a) + (r - Q(a)) / n(a)
    # gap: count the reward, then move the value towards it
    count[action] += 1
    value[action] += (reward - value[action]) / count[action]
    # end


class Agent(q_learning.Agent):
    """Q-learning's agent, which explores by the choice above."""

    def __init__(self, algorithm: q_learning.Algorithm, config: q_learning.Config):
        super().__init__(algorithm, config)
        self.rng = np.random.default_rng(derive_seed(config.seed, "exploration"))

    def explore(self, obs: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Actions `[N]`, each chosen by its state's row of the table."""
        rows = self.algorithm.model.value(obs).numpy()
        chosen = [epsilon_greedy(row, self.epsilon(), self.rng) for row in rows]
        return torch.tensor(chosen), {}


class Algorithm(q_learning.Algorithm):
    """Q-learning whose entries are means of their targets."""

    def learn(self, data: TensorDict) -> Logs:
        """Count a target `r + gamma V(s')` as an action's reward, for each of `[B]`."""
        table, visits = self.model.table.numpy(), self.visits.numpy()
        states, target = self.model.state(data["obs"]), self.td_target(data)
        td_error = target - self.model.table[states, data["action"]]
        steps = states.tolist(), data["action"].tolist(), target.tolist()
        for state, action, reward in zip(*steps, strict=True):
            update(table[state], visits[state], action, reward)
        return {"td_error": td_error.abs().mean()}


class Trainer(q_learning.Trainer):
    """The schedule of Q-learning, as it is."""

    algorithm_class = Algorithm
    agent_class = Agent
