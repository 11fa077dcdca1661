"""From logits to the distribution that tokens are drawn from."""

import torch
from torch import Tensor


def drawn(logits: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """A token of each distribution, int64 `[B]`, from logits `[B, V]`.

    Gumbel-max: `argmax(logits + g)`, `g = -log(Exponential(1))`.
    """
    noise = torch.empty_like(logits).exponential_(generator=generator)
    return (logits - noise.log_()).argmax(-1)


def entropy_of(log_p: Tensor) -> Tensor:
    """The entropy in nats `[...]` of logarithms of probabilities `[..., V]`."""
    finite = log_p.clamp(min=torch.finfo(log_p.dtype).min)  # 0 log 0 = 0
    return -(log_p.exp() * finite).sum(-1)


def until_end(tokens: Tensor, end: int) -> Tensor:
    """Which tokens `[B, L]` come before the first `end`, or are it, bool.

    >>> until_end(torch.tensor([[5, 0, 0], [5, 6, 7]]), end=0)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    ends = tokens == end
    return ends.cumsum(1) - ends.long() == 0
