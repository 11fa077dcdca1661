"""Copies of a trainer: a deep one trains by itself, a pickled one is a checkpoint."""

from __future__ import annotations

import copy
from typing import Any, NoReturn, Self

from gymnasium.vector import AsyncVectorEnv

from yieldrl.collectors import AsyncCollector

_INSTEAD = (
    "Save it and load it instead: trainer.save('copy.pt'), then"
    " type(trainer).load('copy.pt'), with what was passed besides the config"
)


class Copies:
    """A trainer that is copied with all its parts, where these can be copied."""

    collector: Any
    envs: Any

    def __copy__(self) -> Self:
        """A trainer of the same parts."""
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A trainer that goes on by itself, in the same folder if it has one.

        Raises:
            TypeError: If a thread or processes belong to it.
        """
        if (reason := self._uncopied()) is not None:
            raise TypeError(f"{reason} cannot be copied. {_INSTEAD}")
        twin = object.__new__(type(self))
        memo[id(self)] = twin
        vars(twin).update(copy.deepcopy(vars(self), memo))
        return twin

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """A pickled trainer would be a checkpoint that runs code when it is read."""
        reason = self._uncopied() or "a trainer"
        raise TypeError(f"{reason} cannot be pickled. {_INSTEAD}")

    def _uncopied(self) -> str | None:
        """Attributes that belong to a thread or a process, and cannot be copied."""
        if isinstance(self.collector, AsyncCollector):
            return "a trainer that collects in the background, in a thread of its own,"
        if isinstance(self.envs.unwrapped, AsyncVectorEnv):
            return "a trainer whose environments are processes (vectorization='async')"
        return None
