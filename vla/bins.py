"""Numbers as tokens: [-1, 1] cut into bins, each an entry of the vocabulary."""

import torch
from torch import Tensor


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

    >>> import torch
    >>> bins = ActionBins(4)
    >>> bins.encode(torch.tensor([-1.0, -0.1, 0.1, 1.0]))
    tensor([0, 1, 2, 3])
    >>> bins.decode(torch.tensor([0, 3]))
    tensor([-0.7500,  0.7500])
    >>> bins = ActionBins(5, edges=True)
    >>> bins.encode(torch.tensor([-1.0, -0.1, 0.1, 0.9, 1.0]))
    tensor([0, 1, 2, 3, 4])
    >>> bins.decode(torch.tensor([0, 3, 4]))
    tensor([-0.7500,  0.7500,  0.7500])
    """

    def __init__(
        self, count: int, *, descending: bool = False, edges: bool = False
    ) -> None:
        if count < 1 + edges:
            least = "2 edges" if edges else "1 bin"
            raise ValueError(f"count = {count}: an action needs at least {least}")
        self.count, self.descending, self.edges = count, descending, edges

    @property
    def centres(self) -> int:
        """The number of values that `decode` can return."""
        return self.count - 1 if self.edges else self.count

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
        own = logits[..., vocab_size - self.count : vocab_size]
        return own.flip(-1) if self.descending else own

    def _edges(self, device: torch.device) -> Tensor:
        """The bins' edges, `numpy.linspace(-1, 1, count)`."""
        exact = torch.float32 if device.type == "mps" else torch.float64
        step = 2 / (self.count - 1)
        edges = torch.arange(self.count, dtype=exact, device=device) * step - 1
        edges[-1] = 1
        return edges
