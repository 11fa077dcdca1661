"""Demonstrations: transitions of an expert, learned from many times."""

from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium as gym
import torch
from tensordict import TensorDict

from yieldrl.buffers.action_chunks import Windows
from yieldrl.buffers.spec import check_at_least_one, transition_spec
from yieldrl.buffers.storage import Storage


class Demonstrations:
    """Transitions `[T, N]` of an expert, drawn in minibatches and never cleared.

    Actions are the environment's, which an agent of behaviour cloning converts.
    `windows` cuts them into minibatches. An episode that is unfinished at the last row
    counts as truncated there.

    >>> space = gym.spaces.Discrete(9)
    >>> buffer = Demonstrations(3, space, space, num_envs=1, chunk_length=2, gamma=0.5)
    >>> for t in range(3):
    ...     step = {"obs": [t], "next_obs": [t + 1], "action": [t], "reward": [1.0]}
    ...     buffer.add({**step, "terminated": [t == 2], "truncated": [False]})
    >>> batch = buffer.windows.minibatch(0, batch_size=3)
    >>> batch = batch[batch["obs"].argsort()]
    >>> batch["action"].tolist(), batch["num_steps"].tolist()
    ([[0, 1], [1, 2], [2, 2]], [2, 2, 1])
    >>> batch["returns"].tolist()
    [1.75, 1.5, 1.0]

    Args:
        num_steps: `T`, steps of every environment, at least 1.
        observation_space: Space of one observation.
        action_space: Space of one action, not of a chunk of them.
        num_envs: `N`, parallel environments of the expert.
        chunk_length: `L`, actions of a window, at least 1; None for single actions.
        gamma: Discount of the returns.
        device: Where the tensors live; MemoryError if less is free than they need.
        seed: Seed of the order of minibatches.
    """

    def __init__(
        self,
        num_steps: int,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        *,
        num_envs: int,
        chunk_length: int | None = None,
        gamma: float = 0.99,
        device: torch.device | str = "cpu",
        seed: int = 0,
    ) -> None:
        check_at_least_one(num_steps=num_steps, chunk_length=chunk_length)
        self.observation_space, self.action_space = observation_space, action_space
        self.num_steps, self.num_envs = num_steps, num_envs
        self.chunk_length, self.gamma, self.seed = chunk_length, gamma, seed
        self.device = torch.device(device)
        spec = transition_spec(observation_space, action_space)
        size = {"field": "demonstration_steps", "value": num_steps * num_envs}
        beside = 5 * 8  # bytes of its `Future` and its index in an epoch
        parts = num_steps, num_envs, spec, self.device
        self._storage = Storage(*parts, beside=beside, **size)
        self._row = 0
        self._windows: Windows | None = None

    def __len__(self) -> int:
        return self._row * self.num_envs

    @property
    def full(self) -> bool:
        """Whether all T rows are written."""
        return self._row == self.num_steps

    @property
    def windows(self) -> Windows:
        """Minibatches of the transitions so far."""
        if self._windows is None:
            settings = self.chunk_length, self.gamma, self.seed
            self._windows = Windows(self.rollout(), *settings)
        return self._windows

    def add(self, transition: Mapping[str, Any]) -> None:
        """Write one step of all environments, each entry `[N, ...]`.

        RuntimeError if full, ValueError if an entry does not fit: it is not counted.
        """
        if self.full:
            raise RuntimeError("all demonstrations are there: learn from them")
        self._windows = None
        self._storage.write(self._row, transition, first=self._row == 0)
        self._row += 1

    def extend(self, rollout: TensorDict) -> None:
        """Write several steps at once, `[K, N]`; KeyError or ValueError if unfit."""
        count, width = rollout.batch_size
        end = self._row + count
        if width != self.num_envs or end > self.num_steps:
            raise ValueError(
                f"got a rollout {[count, width]} where there is room for"
                f" {[self.num_steps - self._row, self.num_envs]}: make demonstrations"
                " that are as long and as wide"
            )
        self._windows = None
        rows = self._storage.tensordict(end, self._row)
        rows.update_(rollout.select(*rows.keys()))
        self._row = end

    def end_episodes(self) -> None:
        """Mark unfinished episodes as truncated: the next step begins new ones."""
        if self._row > 0:
            self._windows = None
            self._storage.truncate(self._row - 1)

    def rollout(self) -> TensorDict:
        """All transitions so far `[T, N]`, sharing the buffer's memory."""
        return self._storage.tensordict(self._row)

    def episodes(self) -> Iterator[TensorDict]:
        """The episodes `[K]`, environment by environment; the last may be cut."""
        rollout = self.rollout()
        left = self.windows.future.left.view(rollout.batch_size)
        for n in range(self.num_envs):
            row, ahead = 0, left[:, n].tolist()
            while row < self._row:
                if ahead[row] > 0:  # skips steps that only reset the environment
                    yield rollout[row : row + ahead[row], n]
                row += max(1, ahead[row])

    def statistics(self) -> dict[str, float]:
        """Mean return, mean length and number of the episodes that ended."""
        ended = [e for e in self.episodes() if e["terminated"][-1] | e["truncated"][-1]]
        if not ended:
            return {}
        return {
            "episode_return": sum(float(e["reward"].sum()) for e in ended) / len(ended),
            "episode_length": sum(map(len, ended)) / len(ended),
            "episodes": float(len(ended)),
        }

    def state_dict(self) -> dict[str, Any]:
        """The transitions so far."""
        return {"storage": self._storage.state_dict(self._row), "row": self._row}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; ValueError if it does not fit."""
        self._row, self._windows = 0, None
        self._storage.load_state_dict(state["storage"])
        self._row = state["row"]
