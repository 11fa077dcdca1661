"""An actor that holds collected data: a replay buffer, or segments."""

import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from yieldrl.distributed.parts import joined
from yieldrl.distributed.worker import Segment
from yieldrl.envs.arrays import as_tensors
from yieldrl.envs.batched.tree import tree_map
from yieldrl.foundations.trees import map_tensors

Write = tuple[str, tuple[Any, ...]]
"""The name of a method of the buffer, and its arguments."""


class ReplayBufferActor:
    """Holds data of rollout workers for the learner.

    For algorithms with a replay buffer it has the buffer, and draws batches; for those
    that learn from rollouts it joins segments `[T, n]`.
    """

    def make(self, made_of: bytes, options: Mapping[str, Any]) -> int:
        """Make the buffer; returns its horizon.

        Args:
            made_of: Its class and arguments, pickled.
            options: More arguments, by name.
        """
        torch.set_num_threads(1)
        kind, args = pickle.loads(made_of)
        self._buffer = kind(*args, **options)
        return self._buffer.horizon

    def joined(self, *parts: Segment) -> tuple[Segment, list[float]]:
        """Segments of all workers side by side, `[T, N]`, and the seconds of each."""
        return joined(parts), [part.seconds for part in parts]

    def write(self, writes: Sequence[Write]) -> None:
        """Call methods that change the buffer: their names and arguments."""
        for name, args in writes:
            getattr(self._buffer, name)(*_tensors(args))

    def sample(
        self, writes: Sequence[Write], again: bool, args: tuple[Any, ...]
    ) -> dict[str, Any]:
        """Write, then draw a batch: arrays `[B, ...]`, nested or not.

        Args:
            writes: As of `write`.
            again: Whether to undo the latest draw first, as its batch was not used.
            args: Of the buffer's `sample`.
        """
        self._undo(again)
        self.write(writes)
        self._before = self._buffer.generator.get_state()
        return tree_map(Tensor.numpy, self._buffer.sample(*args).to_dict())

    def state_dict(self, writes: Sequence[Write], again: bool) -> dict[str, Any]:
        """Write, then return the buffer's `state_dict`, with arrays for tensors."""
        self._undo(again)
        self.write(writes)
        return map_tensors(Tensor.numpy, self._buffer.state_dict())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self._buffer.load_state_dict(as_tensors(state))

    def _undo(self, again: bool) -> None:
        if again:
            self._buffer.generator.set_state(self._before)


def _tensors(args: tuple[Any, ...]) -> list[Any]:
    """Arguments with tensors for arrays, but for transitions, which stay arrays."""
    return [as_tensors(x) if isinstance(x, np.ndarray) else x for x in args]
