"""Numbers of any size as classes: two-hot over bins that are spaced exponentially."""

import torch
from torch import Tensor, nn


def symlog(x: Tensor) -> Tensor:
    """`sign(x) log(1 + |x|)`.

    Hafner et al. 2023, "Mastering Diverse Domains through World Models",
    arXiv:2301.04104, equation 9.
    """
    return x.sign() * x.abs().log1p()


def symexp(x: Tensor) -> Tensor:
    """The inverse of `symlog`: `sign(x) (exp(|x|) - 1)`."""
    return x.sign() * x.abs().expm1()


class TwoHot(nn.Module):
    """A distribution over `symexp` of evenly spaced numbers, whose mean is the answer.

    Hafner et al. 2023, arXiv:2301.04104, equations 10 and 11. The size of a gradient
    depends on how wrong the probabilities are, not on how large the numbers; and as the
    two bins beside a number share it in proportion, the mean is exact.

    Args:
        bins: Number of bins, odd, so that 0 is one.
        limit: The outermost bins are `symexp(limit)` and minus that; larger numbers
            count as these.
    """

    bins: Tensor

    def __init__(self, bins: int = 63, limit: float = 10.0) -> None:
        super().__init__()
        if bins < 3 or bins % 2 == 0:
            raise ValueError(f"bins = {bins}: choose an odd number, at least 3")
        half = symexp(torch.linspace(0, limit, bins // 2 + 1, dtype=torch.float32))
        self.register_buffer("bins", torch.cat([-half[1:].flip(0), half]))

    def encode(self, x: Tensor) -> Tensor:
        """Probabilities `[..., bins]` with the mean `x [...]`, of the two beside it."""
        x = x.to(self.bins).clamp(self.bins[0], self.bins[-1])
        above = torch.searchsorted(self.bins, x.contiguous()).clamp(min=1)
        low, high = self.bins[above - 1], self.bins[above]
        share = ((x - low) / (high - low)).unsqueeze(-1)
        above = above.unsqueeze(-1)
        coded = x.new_zeros(*x.shape, len(self.bins))
        return coded.scatter(-1, above - 1, 1 - share).scatter(-1, above, share)

    def loss(self, logits: Tensor, x: Tensor) -> Tensor:
        """Cross-entropy `[...]` of logits `[..., bins]` with the two-hot code."""
        return -(self.encode(x) * logits.log_softmax(-1)).sum(-1)

    def mean(self, logits: Tensor) -> Tensor:
        """The mean, `[...]`, of the distribution of logits `[..., bins]`."""
        return (logits.softmax(-1) * self.bins).sum(-1)
