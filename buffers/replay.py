"""The replay buffer: a ring of the latest transitions, sampled at random."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.buffers.storage import Storage, transition_spec
from yieldrl.foundations import restore_generator


class ReplayBuffer:
    """A ring of `capacity` transitions `[rows, N]`; the oldest row is overwritten.

    Lin 1992, "Self-Improving Reactive Agents Based On Reinforcement Learning, Planning
    and Teaching"; Mnih et al. 2015. Images stay uint8.

    Args:
        capacity: Transitions to keep, over all environments (rounded down to rows).
        observation_space: Space of one observation.
        action_space: Space of one action.
        num_envs: `N`, environments that write side by side.
        gamma: Discount; samples carry it as `discount`, so that a buffer of n-step
            returns can carry `gamma ** n` and nothing else need know.
        device: Where the tensors live.
        seed: Seed of the sampling.

    Raises:
        ValueError: If the capacity does not hold one row.
        MemoryError: If the device has less memory free than the buffer needs.
    """

    horizon: int = 1
    """Steps of a sample; the latest `horizon - 1` rows wait for their future."""

    def __init__(
        self,
        capacity: int,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        *,
        num_envs: int,
        gamma: float,
        device: torch.device | str = "cpu",
        seed: int = 0,
    ) -> None:
        if capacity < num_envs:
            raise ValueError(
                f"capacity = {capacity} does not hold one step of {num_envs}"
                " environments: choose a larger buffer_size"
            )
        self.num_envs, self.gamma = num_envs, gamma
        self.rows = capacity // num_envs
        self.device = torch.device(device)
        spec = transition_spec(observation_space, action_space)
        self._storage = Storage(self.rows, num_envs, spec, self.device)
        self._generator = torch.Generator(self.device).manual_seed(seed)
        self._written = 0

    def __len__(self) -> int:
        rows = min(self._written, self.rows) - (self.horizon - 1)
        return max(0, rows) * self.num_envs

    @property
    def capacity(self) -> int:
        """Transitions that it can hold."""
        return self.rows * self.num_envs

    def add(self, transition: Mapping[str, Any]) -> None:
        """Write one step of all environments, each entry `[N, ...]`."""
        row = self._written % self.rows
        for name, value in transition.items():
            self._storage.write(row, (name,), value)
        self._written += 1

    def sample(self, batch_size: int) -> TensorDict:
        """A batch `[B]` drawn uniformly with replacement, with its `discount`.

        Raises:
            RuntimeError: If nothing was added yet, or nothing but resets.
        """
        if len(self) == 0:
            raise RuntimeError("the replay buffer is empty: collect first")
        return self._gather(self._sample_index(batch_size))

    def end_episodes(self) -> None:
        """Say that the episodes under way will not go on, as if they were truncated."""
        if self._written > 0:
            self._storage.truncate((self._written - 1) % self.rows)

    def state_dict(self) -> dict[str, Any]:
        """The transitions, where the ring stands, and the sampling's generator."""
        return {
            "storage": self._storage.state_dict(min(self._written, self.rows)),
            "written": self._written,
            "rows": self.rows,
            "generator": self._generator.get_state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, into a ring of this size or a larger one.

        Raises:
            ValueError: If it does not fit.
        """
        self._storage.load_state_dict(state["storage"])
        self._written, rows = state["written"], state["rows"]
        if self._written > rows and rows != self.rows:
            # It had come full circle: the oldest row goes first in the new ring.
            self._storage.roll(rows, -(self._written % rows))
            self._written = rows
        restore_generator(self._generator, state["generator"])

    def _sample_index(self, batch_size: int) -> Tensor:
        """Flat positions of valid transitions."""
        index = self._random_index(batch_size)
        if "valid" not in self._storage:
            return index
        # NEXT_STEP autoreset only: draw again where a step merely reset.
        valid = self._storage["valid"].flatten()
        while not bool(valid[index].all()):
            everything = torch.arange(len(self), device=self.device)
            if not bool(valid[self._position(everything)].any()):
                raise RuntimeError("the replay buffer holds only resets: collect more")
            index = torch.where(valid[index], index, self._random_index(batch_size))
        return index

    def _random_index(self, batch_size: int) -> Tensor:
        number = torch.randint(
            len(self),
            (batch_size,),
            generator=self._generator,
            device=self.device,
        )
        return self._position(number)

    def _position(self, number: Tensor) -> Tensor:
        """Flat positions of the transitions that are counted `0 ... len(self) - 1`."""
        return number

    def _gather(self, index: Tensor) -> TensorDict:
        """The batch `[B]` that belongs to flat positions `[B]`."""
        batch = self._storage.gather(index)
        batch["discount"] = torch.full_like(batch["reward"], self.gamma)
        return batch
