"""The frozen lake with two advisers, for chapter 8's figure: all of it is exact."""

from __future__ import annotations

import numpy as np
import torch

from yieldrl.envs import value_iteration
from yieldrl.functional import discounted_returns

from .frozen_lake import transitions


class Lake:
    """The lake, and a policy with an adviser for each of its two parameters.

    Attributes:
        advice: 1 where an adviser recommends an action, `[S, A, 2]`: the first turns
            its back on the holes, the second believes that the ice is firm.
        after: Where the ice takes one from each state and action, `[S, A, 3]`.
        reward: What that earns, `[S, A, 3]`.
        ended: Whether it ends the episode, `[S, A, 3]`.
    """

    def __init__(self) -> None:
        worlds = [transitions(is_slippery=slips) for slips in (True, False)]
        best = [value_iteration(world, 0.99)[1].round(8).argmax(1) for world in worlds]
        self.advice = np.stack([np.eye(4)[actions] for actions in best], -1)
        slippery = worlds[0]
        rows = [[(row * 3)[:3] for row in slippery[s].values()] for s in range(16)]
        _, after, self.reward, ended = np.moveaxis(np.array(rows), -1, 0)
        self.after, self.ended = after.astype(int), ended > 0

    def policy(self, theta: np.ndarray) -> np.ndarray:
        """Probabilities `[..., S, A]` for parameters `[..., 2]`."""
        weight = np.exp(np.einsum("sai,...i->...sa", self.advice, theta))
        return weight / weight.sum(-1, keepdims=True)

    def arrives(self, theta: np.ndarray) -> np.ndarray:
        """The probability to arrive, `[...]`, for parameters `[..., 2]`."""
        goes_on = np.eye(16)[self.after] * ~self.ended[..., None]
        policy = self.policy(theta)
        chance = np.einsum("...sa,sakt->...st", policy, goes_on) / 3
        earned = np.einsum("...sa,sak->...s", policy, self.reward) / 3
        return np.linalg.solve(np.eye(16) - chance, earned[..., None])[..., 0, 0]

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """What `arrives` changes by with each parameter, `[2]`."""
        nudge = 1e-5 * np.eye(2)
        return (self.arrives(theta + nudge) - self.arrives(theta - nudge)) / 2e-5

    def scores(self, theta: np.ndarray) -> np.ndarray:
        """The gradient of `log pi(a | s)`, `[S, A, 2]`."""
        mean = np.einsum("sa,sai->si", self.policy(theta), self.advice)
        return self.advice - mean[:, None]

    def parts(
        self, theta: np.ndarray, count: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Of so many episodes `sum(score G)` and `sum(score)`, `[count, 2]` each."""
        first = self.policy(theta)[:, :3].cumsum(1)
        state, going = np.zeros(count, int), np.ones(count, bool)
        columns: list[tuple[np.ndarray, ...]] = []
        while going.any():
            action = (rng.random((count, 1)) > first[state]).sum(1)
            at = state, action, rng.integers(3, size=count)
            columns.append((state, action, self.reward[at], self.ended[at], going))
            going = going & ~self.ended[at]
            state = self.after[at]
        states, actions, reward, ended, counts = map(
            np.array, zip(*columns, strict=True)
        )
        flags = torch.as_tensor(ended)
        no = torch.zeros_like(flags)
        earned = torch.as_tensor(reward * counts)
        returns = discounted_returns(earned, torch.zeros_like(earned), flags, no, 1.0)
        score = self.scores(theta)[states, actions] * counts[..., None]
        return (score * returns.numpy()[..., None]).sum(0), score.sum(0)
