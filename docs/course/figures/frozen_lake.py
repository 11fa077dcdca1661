"""FrozenLake as arrays, for figures: what is known of it, and episodes on it."""

from typing import Any

import gymnasium
import numpy as np
import torch

from yieldrl.envs import policy_evaluation, value_iteration
from yieldrl.functional import gae

GAMMA = 0.99
LAKE = "SFFFFHFHFFFHHFFG"


def transitions(env_id: str = "FrozenLake-v1", **options: Any) -> Any:
    """The table of a world that has one: state -> action -> its outcomes."""
    return gymnasium.make(env_id, **options).unwrapped.P  # pyright: ignore


def thirds(table: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three equally likely outcomes of every action, all the same if nobody slips.

    Returns:
        The next state, the reward and whether the episode ends, `[S, A, 3]` each.
    """
    rows = [[(row * 3)[:3] for row in actions.values()] for actions in table.values()]
    _, after, reward, ended = np.moveaxis(np.array(rows), -1, 0)
    return after.astype(int), reward, ended > 0


def good_policy(table: Any) -> np.ndarray:
    """The best policy with every fifth action at random, `[S, A]`."""
    return 0.05 + 0.8 * np.eye(4)[value_iteration(table, GAMMA)[1].argmax(1)]


class Lake:
    """The lake under its best policy, with every fifth action at random.

    Attributes:
        truth: The policy's value in every state, `[S]`.
        chance: Probability of each next state, `[S, S]`.
        reward: What each step earns, `[S, S]`.
        goes_on: 0 where a step ends the episode, else 1, `[S, S]`.
    """

    def __init__(self) -> None:
        table = transitions()
        policy = good_policy(table)
        self.truth = policy_evaluation(table, policy, GAMMA)
        self.chance, self.reward, self.goes_on = np.zeros((3, 16, 16))
        after, earned, ended = thirds(table)
        step = np.arange(16)[:, None, None], after
        np.add.at(self.chance, step, policy[..., None] / 3)
        self.reward[step], self.goes_on[step] = earned, ~ended

    def critic(self, sweeps: int) -> np.ndarray:
        """What so many sweeps make of zeros, `[S]`."""
        value = np.zeros(16)
        for _ in range(sweeps):
            future = self.reward + GAMMA * self.goes_on * value
            value = (self.chance * future).sum(1)
        return value

    def moments(self, value: np.ndarray, gae_lambda: float) -> tuple[float, float]:
        """Mean and standard deviation of `A_0 + V(s_0)` from the start, exactly.

        `A = delta + c A'` with `c = gamma lambda`, so that `E[A] = E[delta] + c E[A']`
        and `E[A^2] = E[delta^2 + 2 c delta E[A']] + c^2 E[A'^2]`: linear in what is
        asked for.
        """
        delta = self.reward + GAMMA * self.goes_on * value - value[:, None]
        carry, eye = GAMMA * gae_lambda, np.eye(16)
        follow = self.chance * self.goes_on
        mean = np.linalg.solve(eye - carry * follow, (self.chance * delta).sum(1))
        own = delta**2 + 2 * carry * self.goes_on * delta * mean
        own = (self.chance * own).sum(1)
        square = np.linalg.solve(eye - carry**2 * follow, own)
        variance = max(0.0, square[0] - mean[0] ** 2)
        return float(mean[0] + value[0]), float(np.sqrt(variance))

    def episode(self, rng: np.random.Generator) -> list[int]:
        """The states of one episode from the start, with the one that ended it."""
        states = [0]
        while len(states) < 2 or self.goes_on[states[-2], states[-1]]:
            states.append(int(rng.choice(16, p=self.chance[states[-1]])))
        return states

    def estimates(
        self, episodes: list[list[int]], value: np.ndarray, gae_lambda: float
    ) -> list[float]:
        """`A_0 + V(s_0)` of each episode, as the library computes it."""
        longest = max(map(len, episodes))
        states = np.array([e + e[-1:] * (longest - len(e)) for e in episodes]).T
        before, after = states[:-1], states[1:]
        advantage = gae(
            reward=torch.as_tensor(self.reward[before, after]),
            value=torch.as_tensor(value[before]),
            next_value=torch.as_tensor(value[after]),
            terminated=torch.as_tensor(self.goes_on[before, after] == 0),
            truncated=torch.zeros(before.shape, dtype=torch.bool),
            gamma=GAMMA,
            gae_lambda=gae_lambda,
        )
        return (advantage[0] + float(value[0])).tolist()
