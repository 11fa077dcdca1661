"""The replay buffer: a ring of the latest transitions, sampled at random."""

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.buffers.ring_sequences import SequenceDraws
from yieldrl.buffers.spec import (
    check_at_least_one,
    check_memory,
    entry_bytes,
    transition_spec,
)
from yieldrl.buffers.storage import Storage, add_rollout
from yieldrl.core import restore_generator


class ReplayBuffer(SequenceDraws):
    """A ring of `capacity` transitions `[rows, N]`; the oldest row is overwritten.

    Lin 1992, "Self-Improving Reactive Agents Based On Reinforcement Learning, Planning
    and Teaching"; Mnih et al. 2015. Images stay uint8.

    Args:
        capacity: Transitions to keep, over all environments (rounded down to rows): at
            least one row.
        observation_space: Space of one observation.
        action_space: Space of one action.
        num_envs: `N`, parallel environments.
        gamma: Discount; samples have it as `discount`, unless their transitions have
            one of their own.
        device: Where the tensors live; MemoryError if less is free than they need.
        seed: Seed of `generator`, which draws the samples.
    """

    horizon: int = 1
    """Steps of a sample; the latest `horizon - 1` rows cannot be sampled yet."""
    beside: int = 0
    """Bytes that each transition takes besides its entries."""

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
        size = {"field": "buffer_size", "value": capacity, "beside": self.beside}
        self._storage = Storage(self.rows, num_envs, spec, self.device, **size)
        self._sample_bytes = entry_bytes(spec)
        self._checked_size = 0  # the largest batch known to fit into memory
        self.generator = torch.Generator(self.device).manual_seed(seed)
        # Rows begun and rows completed since the first. They differ if an exception
        # interrupted a write: that row is no longer the oldest, nor yet the newest.
        self._begun = self._written = 0

    def __len__(self) -> int:
        rows = self._written - self._oldest - (self.horizon - 1)
        return max(0, rows) * self.num_envs

    @property
    def capacity(self) -> int:
        """Maximal number of transitions."""
        return self.rows * self.num_envs

    def add(self, transition: Mapping[str, Any]) -> None:
        """Write a step, each entry `[N, ...]`, or the rows of a rollout `[T, N]`.

        ValueError if an entry does not fit; then the row is not counted.
        """
        if add_rollout(self, transition):
            return
        written = self._written
        self._begun = written + 1
        self._storage.write(written % self.rows, transition, first=written == 0)
        self._written = written + 1

    def sample(self, batch_size: int) -> TensorDict:
        """A batch `[B]` drawn uniformly with replacement, with its `discount`.

        RuntimeError without transitions, resets not counted; ValueError if the batch
        size is less than 1, MemoryError if the batch takes more memory than is free.
        """
        if not 0 < batch_size <= self._checked_size:
            self.check_batch(batch_size)
        if len(self) == 0:
            raise RuntimeError("the replay buffer is empty: collect first")
        return self._gather(self._sample_index(batch_size))

    def check_batch(self, batch_size: int) -> None:
        """Raise the errors of `sample` for a size below 1 or too large for memory."""
        check_at_least_one(batch_size=batch_size)
        size = {"field": "batch_size", "value": batch_size}
        check_memory(batch_size, self._sample_bytes, self.device, **size)
        self._checked_size = batch_size

    def end_episodes(self) -> None:
        """Mark unfinished episodes as truncated: the next step begins new ones."""
        if self._written > 0:
            self._storage.truncate((self._written - 1) % self.rows)

    def state_dict(self) -> dict[str, Any]:
        """The transitions, the positions, and the state of `generator`."""
        return {
            "storage": self._storage.state_dict(min(self._written, self.rows)),
            "written": self._written,
            "begun": self._begun,
            "rows": self.rows,
            "generator": self.generator.get_state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state into a ring of equal or larger size; ValueError if unfit."""
        self._begun = self._written = 0
        self._storage.load_state_dict(state["storage"])
        begun, written, rows = state["begun"], state["written"], state["rows"]
        if self._resized(state):
            # The oldest row goes first in the new ring, an interrupted one last.
            self._storage.roll(rows, -(begun % rows))
            begun = written = rows - (begun - written)
        restore_generator(self.generator, state["generator"])
        self._begun, self._written = begun, written

    @property
    def _oldest(self) -> int:
        """Number of the oldest complete row, counted from the first ever written."""
        return max(0, self._begun - self.rows)

    def _resized(self, state: Mapping[str, Any]) -> bool:
        """Whether a saved ring was full, and this one has another size."""
        return state["begun"] > state["rows"] != self.rows

    def _sample_index(self, batch_size: int) -> Tensor:
        """Flat positions of valid transitions."""
        index = self._random_index(batch_size)
        if "valid" not in self._storage:
            return index
        # NEXT_STEP autoreset only: draw again for steps that only reset.
        valid = self._storage["valid"].flatten()
        while not bool(valid[index].all()):
            everything = torch.arange(len(self), device=self.device)
            if not bool(valid[self._position(everything)].any()):
                raise RuntimeError("the replay buffer holds only resets: collect more")
            index = torch.where(valid[index], index, self._random_index(batch_size))
        return index

    def _random_index(self, batch_size: int) -> Tensor:
        options = {"generator": self.generator, "device": self.device}
        return self._position(torch.randint(len(self), (batch_size,), **options))

    def _position(self, number: Tensor) -> Tensor:
        """Flat positions of transitions with the numbers `0 ... len(self) - 1`."""
        if self._oldest == 0 or len(self) == self.capacity:  # order does not matter
            return number
        # Count from the oldest row, to leave out the last `horizon - 1` rows.
        return (number + self._oldest * self.num_envs) % self.capacity

    def _gather(self, index: Tensor) -> TensorDict:
        """The batch `[B]` at flat positions `[B]`."""
        return self._single_steps(index)
