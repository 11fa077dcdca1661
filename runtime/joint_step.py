"""One gradient step for two losses, each of data of its own."""

from collections.abc import Sequence
from typing import Any

from torch import nn

from yieldrl.runtime.accumulation import AccumulatedStep, in_parts
from yieldrl.runtime.gradient_step import Loss


class JointStep(AccumulatedStep):
    """A step of an optimizer along the sum of two gradients.

    A batch `[B]` brings data for the second loss as its entry `entry`, of any batch
    size `[B, ...]`; they are cut into parts of their own. Gradients are clipped
    together: a large one leaves less of the other.

    Args:
        args: As of `AccumulatedStep`, for the first loss.
        beside: The second loss, a mean over its batch, and what to log of it.
        entry: Where its data are.
        parts: Into how many parts they are cut.
        kwargs: As `args`.
    """

    def __init__(
        self, *args: Any, beside: Loss, entry: str, parts: int, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.beside, self.entry, self.parts = beside, entry, parts

    def gradients(self, data: Any, trained: Sequence[nn.Parameter]) -> dict[str, Any]:
        """Fill `grad` with both, part by part; the logs of both."""
        logs = super().gradients(data.exclude(self.entry), trained)

        def backward(part: Any, share: float, _: bool) -> dict[str, Any]:
            loss, found = self.beside(part)
            (loss * share).backward(inputs=trained)
            return found

        own = data[self.entry].reshape(-1)
        return {**logs, **in_parts(own, min(self.parts, len(own)), backward)}
