"""Numbers as tokens: [-1, 1] cut into bins, each an entry of the vocabulary."""

from __future__ import annotations

from torch import Tensor


class ActionBins:
    """Even bins of [-1, 1], which are the last entries of a vocabulary.

    Brohan et al. 2023, "RT-2", arXiv:2307.15818, section 3.2; Kim et al. 2024,
    "OpenVLA", arXiv:2406.09246, section 3.2.

    Args:
        count: Bins. For choices: options, and `encode` and `decode` have no use.
        descending: Whether the lowest bin is the last entry of all, as OpenVLA has it.
            By default it is the highest.

    Raises:
        ValueError: If there are fewer than 1.

    >>> import torch
    >>> bins = ActionBins(4)
    >>> bins.encode(torch.tensor([-1.0, -0.1, 0.1, 1.0]))
    tensor([0, 1, 2, 3])
    >>> bins.decode(torch.tensor([0, 3]))
    tensor([-0.7500,  0.7500])
    """

    def __init__(self, count: int, *, descending: bool = False) -> None:
        if count < 1:
            raise ValueError(f"count = {count}: an action needs at least 1 bin")
        self.count, self.descending = count, descending

    @property
    def error_bound(self) -> float:
        """How far `decode(encode(action))` is from an action in [-1, 1], at most."""
        return 1 / self.count

    def encode(self, action: Tensor) -> Tensor:
        """The bins, int64 from 0, of numbers `[...]`; beyond [-1, 1] the outermost."""
        position = (action.float() + 1) * (self.count / 2)
        return position.floor().clamp(0, self.count - 1).long()

    def decode(self, ids: Tensor) -> Tensor:
        """The centres of bins `[...]`, float32."""
        return (2 * ids.float() + 1) / self.count - 1

    def entries(self, ids: Tensor, vocab_size: int) -> Tensor:
        """The entries of the vocabulary, int64, that bins `[...]` are."""
        if self.descending:
            return vocab_size - 1 - ids
        return vocab_size - self.count + ids

    def of_vocabulary(self, logits: Tensor, vocab_size: int) -> Tensor:
        """The bins' logits `[..., count]`, out of the vocabulary's `[..., V]`."""
        own = logits[..., vocab_size - self.count : vocab_size]
        return own.flip(-1) if self.descending else own
