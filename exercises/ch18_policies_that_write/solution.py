"""Dr. GRPO's two methods, written out."""

from torch import Tensor


def compared(returns: Tensor, counted: Tensor) -> Tensor:
    """Advantages `[K, G]` of G answers to each of K prompts."""
    size = counted.sum(1, keepdim=True).clamp(min=1)
    mean = (returns * counted).sum(1, keepdim=True) / size
    return (returns - mean) * counted


def by_a_constant(values: Tensor, mask: Tensor, longest: int) -> Tensor:
    """What each answer has a share of the objective, `[B]`."""
    return (values * mask).sum((1, 2)) / longest
