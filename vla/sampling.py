"""Distributions that tokens are drawn from: with a temperature and top-k."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from yieldrl.functional import tempered
from yieldrl.networks import Categorical


class TopK(Categorical):
    """One choice out of the `k` most likely of `logits [..., A]`.

    A choice outside these, which an older policy may have drawn, has its
    log-probability among these and itself: finite, with a gradient.

    >>> policy = TopK(torch.tensor([[0.0, 2.0, 1.0, 0.0]]), k=2)
    >>> policy.log_prob(torch.tensor([1])).exp()  # 1 / (1 + e^-1)
    tensor([0.7311])
    """

    def __init__(self, logits: Tensor, k: int) -> None:
        super().__init__(logits)
        self.k = k
        self.kept = tempered(logits, top_k=k)

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        return Categorical(self.kept).sample(generator)

    def log_prob(self, action: Tensor) -> Tensor:
        among = tempered(self.logits, top_k=self.k, taken=action.long())
        return Categorical(among).log_prob(action)

    def entropy(self) -> Tensor:
        return Categorical(self.kept).entropy()


def drawn_from(
    temperature: float, top_k: int | None
) -> Callable[[Tensor], Categorical]:
    """The function from logits `[..., A]` to a distribution, to act and to learn.

    Holtzman et al. 2020, arXiv:1904.09751, section 4: `softmax(logits / temperature)`,
    of the `top_k` largest. The most likely choice does not change.
    """
    if temperature == 1 and top_k is None:
        return Categorical
    kind = Categorical if top_k is None else partial(TopK, k=top_k)
    return lambda logits: kind(tempered(logits, temperature))
