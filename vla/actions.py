"""Layout of an environment's actions as chunks of tokens."""

import math
from typing import Any, NamedTuple

from gymnasium import Space
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from torch import Tensor

from yieldrl.core import spaces


class ActionLayout(NamedTuple):
    """Actions as chunks `[B, L, D]`.

    Attributes:
        shape: Of one action as the environment takes it, a chunk if it takes chunks.
        length: `L`, actions of a chunk.
        size: `D`, numbers or choices of an action.
        counts: Options of each of the `D` choices; None where actions are numbers.
    """

    shape: tuple[int, ...]
    length: int
    size: int
    counts: tuple[int, ...] | None

    @property
    def tokens(self) -> int:
        """Tokens of a chunk, `L * D`."""
        return self.length * self.size

    def inside(self, action: Tensor) -> Tensor:
        """Actions `[B, *shape]` as chunks `[B, L, D]`."""
        return action.reshape(-1, self.length, self.size)

    def outside(self, chunks: Tensor) -> Tensor:
        """Chunks of any of these shapes as actions `[B, *shape]`."""
        return chunks.reshape(-1, *self.shape)


def action_layout(space: Space[Any], chunk_length: int | None = None) -> ActionLayout:
    """The layout of a space's actions: one, or a chunk `[L, D]`, or `[L]` choices.

    `L` is by default the first of two axes, and 1 where there is one.

    Raises:
        TypeError: If actions are neither numbers nor choices.
        ValueError: If the space is not one of chunks of this length.
    """
    if not isinstance(space, (Box, Discrete, MultiBinary, MultiDiscrete)):
        raise TypeError(
            f"action space {space} is not supported: use Discrete, MultiDiscrete,"
            " MultiBinary or Box"
        )
    shape = spaces.shape_of(space)
    length = chunk_length or (shape[0] if len(shape) == 2 else 1)
    if shape[:1] != (length,) and length > 1:
        raise ValueError(
            f"chunk_length = {length}: actions of {space} are no chunks of this length;"
            " wrap the environments into yieldrl.envs.wrappers.ActionChunks"
        )
    size = math.prod(shape) // length
    if isinstance(space, Box):
        return ActionLayout(shape, length, size, None)
    counts = tuple(spaces.choices(space))
    if counts != counts[:size] * length:
        raise ValueError(f"the actions of a chunk, {space}, have different options")
    return ActionLayout(shape, length, size, counts[:size])
