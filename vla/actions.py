"""Actions as tokens: chunks of numbers or choices, and bins for the numbers."""

import math
from typing import Any, NamedTuple

import torch
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

    `L` is by default the first of two axes, and 1 where there is one. TypeError if
    actions are neither numbers nor choices, ValueError if they are not such chunks.
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


class ActionBins:
    """Even bins of [-1, 1], which are the last entries of a vocabulary.

    Brohan et al. 2023, "RT-2", arXiv:2307.15818, section 3.2; Kim et al. 2024,
    "OpenVLA", arXiv:2406.09246, section 3.2.

    OpenVLA has an entry for each of `count` *edges*, between which are `count - 1`
    bins: `numpy.digitize` puts a number of exactly 1, and with it all that was clipped
    to 1, behind the last edge. That entry also decodes to the centre of the last bin.

    Args:
        count: Bins, at least 1; with `edges` entries, at least 2. For choices: options.
        descending: Whether the lowest bin is the last entry of all, as OpenVLA has it.
        edges: Whether `count` is that of the bins' edges, as OpenVLA has it.

    >>> bins = ActionBins(4)
    >>> bins.encode(torch.tensor([-1.0, -0.1, 0.1, 1.0]))
    tensor([0, 1, 2, 3])
    >>> bins.decode(torch.tensor([0, 3]))
    tensor([-0.7500,  0.7500])
    >>> bins = ActionBins(5, edges=True)
    >>> bins.encode(torch.tensor([-1.0, -0.1, 0.1, 0.9, 1.0]))
    tensor([0, 1, 2, 3, 4])
    """

    def __init__(
        self, count: int, *, descending: bool = False, edges: bool = False
    ) -> None:
        if count < 1 + edges:
            raise ValueError(f"count = {count}: an action needs at least {1 + edges}")
        self.count, self.descending, self.edges = count, descending, edges
        self.centres = count - 1 if edges else count  # values that `decode` returns

    @property
    def error_bound(self) -> float:
        """Largest error of `decode(encode(action))` for an action in [-1, 1]."""
        return 1 / self.centres

    def encode(self, action: Tensor) -> Tensor:
        """The bins, int64 from 0, of numbers `[...]`; beyond [-1, 1] the outermost."""
        if self.edges:
            edges = self._edges(action.device)
            within = action.to(edges.dtype).clamp(-1, 1)
            return torch.bucketize(within, edges, right=True) - 1
        position = (action.float() + 1) * (self.count / 2)
        return position.floor().clamp(0, self.count - 1).long()

    def decode(self, ids: Tensor) -> Tensor:
        """The centres of bins `[...]`, float32."""
        ids = ids.clamp(max=self.centres - 1)
        return (2 * ids.float() + 1) / self.centres - 1

    def entries(self, ids: Tensor, vocab_size: int) -> Tensor:
        """The vocabulary's entries, int64, of bins `[...]`."""
        if self.descending:
            return vocab_size - 1 - ids
        return vocab_size - self.count + ids

    def of_vocabulary(self, logits: Tensor, vocab_size: int) -> Tensor:
        """The bins' logits `[..., count]`, out of the vocabulary's `[..., V]`."""
        bins = logits[..., vocab_size - self.count : vocab_size]
        return bins.flip(-1) if self.descending else bins

    def _edges(self, device: torch.device) -> Tensor:
        """The bins' edges, `numpy.linspace(-1, 1, count)`."""
        exact = torch.float32 if device.type == "mps" else torch.float64
        step = 2 / (self.count - 1)
        edges = torch.arange(self.count, dtype=exact, device=device) * step - 1
        edges[-1] = 1
        return edges
