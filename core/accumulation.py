"""The gradients of a large batch, from parts that fit into memory."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from yieldrl.core.gradient_step import GradientStep, Loss


class AccumulatedStep(GradientStep):
    """A gradient step whose batch `[B]` goes through the loss in parts.

    A loss that is a mean over the batch has as its gradient the mean of the gradients
    of its parts, weighted by their sizes: so the step is that of the whole batch, to
    rounding, and the memory for activations that of one part. What the loss takes from
    the batch as a whole (a normalisation, say) must be in the data already.

    Args:
        loss: From a batch to the loss, a mean over the batch, and what to log. Results
            per sample that it writes into a part arrive in the batch.
        optimizer: Any of PyTorch's optimizers.
        max_grad_norm: Gradients are scaled down to this norm, all parts together;
            `inf` measures the norm only, None does neither.
        micro_batches: Into how many parts a batch is cut, whose sizes differ by one at
            most, at least 1. A batch of fewer samples is cut into those.

    >>> weight = nn.Parameter(torch.tensor(1.0))
    >>> step = AccumulatedStep(
    ...     lambda x: ((weight * x).mean(), {"seen": x.mean()}),
    ...     torch.optim.SGD([weight], lr=0.1),
    ...     micro_batches=2,
    ... )
    >>> step(torch.tensor([1.0, 2.0, 6.0]))  # in parts of one and two
    {'seen': tensor(3.), 'learning_rate': 0.1}
    >>> weight.data
    tensor(0.7000)
    """

    def __init__(
        self,
        loss: Loss,
        optimizer: Optimizer,
        max_grad_norm: float | None = None,
        *,
        micro_batches: int,
    ) -> None:
        if micro_batches < 1:
            raise ValueError(f"micro_batches = {micro_batches}: choose at least 1")
        super().__init__(loss, optimizer, max_grad_norm)
        self.micro_batches = micro_batches

    def gradients(self, data: Any, trained: Sequence[nn.Parameter]) -> dict[str, Any]:
        """Fill `grad` part by part; the logs are means with the weights of the parts.

        A batch that is not cut goes through the loss as it is.
        """
        number = min(self.micro_batches, len(data))
        if number < 2:
            return super().gradients(data, trained)

        def backward(part: Any, share: float, _: bool) -> dict[str, Any]:
            loss, logs = self.loss(part)
            (loss * share).backward(inputs=trained)
            return logs

        return in_parts(data, number, backward)


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


def in_parts(
    data: Any, number: int, backward: Callable[[Any, float, bool], dict[str, Any]]
) -> dict[str, Any]:
    """Cut a batch `[B]`; the metrics' means, with the weights of the parts.

    Args:
        data: The batch. What is written into a part arrives in it.
        number: Of parts. A batch that is not cut is passed on as it is.
        backward: Of a part, its share of the batch, and whether it is the last: adds
            its gradients, and returns metrics.
    """
    if number < 2:
        return dict(backward(data, 1.0, True))
    count = len(data)
    cuts = [count * i // number for i in range(number + 1)]
    sizes = [end - start for start, end in pairwise(cuts)]
    parts = data.split(sizes)
    given = _leaves(parts[0])
    total: dict[str, Any] = {}
    for part, end in zip(parts, cuts[1:], strict=True):
        share = len(part) / count
        for name, value in backward(part, share, end == count).items():
            total[name] = total.get(name, 0.0) + share * value
    _hand_back(data, parts, given)
    return total


def _leaves(data: Any) -> dict[str, Any]:
    """The tensors of a batch by their keys; none of a tensor, which has no keys."""
    if isinstance(data, Tensor):
        return {}
    return dict(data.items(include_nested=True, leaves_only=True))


def _hand_back(data: Any, parts: Sequence[Any], given: dict[str, Any]) -> None:
    """Put what the loss set in the parts of a batch into the batch itself.

    What it wrote in place is there already, for the parts are views.
    """
    for key, leaf in _leaves(parts[0]).items():
        if leaf is not given.get(key):
            data.set(key, torch.cat([part.get(key) for part in parts]))
