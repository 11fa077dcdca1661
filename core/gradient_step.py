"""One gradient step: backward pass, averaging over processes, clipping, optimizer."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from yieldrl.core.ranks import ranks
from yieldrl.core.signals import defer_keyboard_interrupt

Loss = Callable[[Any], tuple[Tensor, dict[str, Any]]]
"""From a batch `[B]` to the loss (0-dim) and metrics to log (detached, 0-dim)."""


def trained_parameters(optimizer: Optimizer) -> list[nn.Parameter]:
    """The parameters of an optimizer that require gradients now.

    RuntimeError if there are none.
    """
    groups = optimizer.param_groups
    trained = [p for group in groups for p in group["params"] if p.requires_grad]
    if not trained:
        raise RuntimeError(
            f"there is nothing to train: every parameter of"
            f" {type(optimizer).__name__} has requires_grad=False. Unfreeze some, or"
            " leave this step out"
        )
    return trained


def apply_gradients(
    optimizer: Optimizer,
    trained: Sequence[nn.Parameter],
    logs: dict[str, Any],
    data: Any,
    max_grad_norm: float | None,
) -> None:
    """Average gradients over processes, clip them, and let the optimizer step.

    Args:
        optimizer: Of the parameters.
        trained: Those with gradients.
        logs: Metrics of the loss; they become means over processes, and get the
            `grad_norm` before clipping, and the `learning_rate`.
        data: The batch, whose size is the weight of this process's mean.
        max_grad_norm: Gradients are scaled down to this norm; `inf` measures the norm
            only, None does neither.
    """
    if ranks().count > 1:
        gradients = [parameter.grad for parameter in trained]
        means, of_all = averaged(gradients, logs, data.numel())
        logs |= of_all
        for parameter, mean in zip(trained, means, strict=True):
            parameter.grad = mean
    if max_grad_norm is not None:
        gradients = [p.grad for p in trained if p.grad is not None]
        logs["grad_norm"] = norm = nn.utils.get_total_norm(gradients)
        if max_grad_norm < float("inf"):
            nn.utils.clip_grads_with_norm_(trained, max_grad_norm, norm)
    with defer_keyboard_interrupt():  # no parameter may lack its part of the step
        optimizer.step()
    logs["learning_rate"] = optimizer.param_groups[0]["lr"]


def diverged(model: nn.Module, counters: Any, loss: float) -> FloatingPointError:
    """The error for a loss that is not finite, which names the broken parameters."""
    parameters = model.named_parameters()
    broken = [k for k, p in parameters if not bool(torch.isfinite(p).all())]
    return FloatingPointError(
        f"the loss became {loss} at learn_step {counters.learn_step + 1}"
        f" (sample_step {counters.sample_step}); parameters that are not finite:"
        f" {broken or 'none yet'}. Lower the learning rate, or look for extreme"
        " observations and rewards in the environment"
    )


def accumulate_gradients(
    loss: Loss, data: Any, trained: Sequence[nn.Parameter], micro_batches: int
) -> dict[str, Any]:
    """Fill `grad` of the trained parameters part by part; the metrics of the whole.

    A loss that is a mean over the batch has as its gradient the mean of the gradients
    of its parts, weighted by their sizes: so it is that of the whole batch, to
    rounding, and the memory for activations that of one part. What the loss takes from
    the batch as a whole (a normalisation, say) must be in the data already.

    Args:
        loss: From a batch to the loss and what to log. Results per sample that it
            writes into a part arrive in the batch.
        data: The batch `[B]`.
        trained: Parameters that get gradients.
        micro_batches: Number of parts, at most B are made.

    >>> weight, data = nn.Parameter(torch.tensor(1.0)), torch.tensor([1.0, 2.0, 6.0])
    >>> loss = lambda x: ((weight * x).mean(), {"seen": x.mean()})
    >>> accumulate_gradients(loss, data, [weight], 2), weight.grad  # of one and of two
    ({'seen': tensor(3.)}, tensor(3.))
    """

    def backward(part: Any, share: float, _: bool) -> dict[str, Any]:
        total, logs = loss(part)
        (total * share).backward(inputs=trained)
        return logs

    return in_parts(data, min(micro_batches, len(data)), backward)


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
    given = leaves_of(parts[0])
    total: dict[str, Any] = {}
    for part, end in zip(parts, cuts[1:], strict=True):
        share = len(part) / count
        for name, value in backward(part, share, end == count).items():
            total[name] = total.get(name, 0.0) + share * value
    _hand_back(data, parts, given)
    return total


def leaves_of(data: Any) -> dict[str, Any]:
    """The tensors of a batch by their keys; none of a tensor, which has no keys."""
    if isinstance(data, Tensor):
        return {}
    return dict(data.items(include_nested=True, leaves_only=True))


def _hand_back(data: Any, parts: Sequence[Any], given: dict[str, Any]) -> None:
    """Put what the loss set in the parts of a batch into the batch itself.

    What it wrote in place is there already, for the parts are views.
    """
    for key, leaf in leaves_of(parts[0]).items():
        if leaf is not given.get(key):
            data.set(key, torch.cat([part.get(key) for part in parts]))


def averaged(
    gradients: Sequence[Tensor | None], logs: Mapping[str, Any], samples: int
) -> tuple[list[Tensor | None], dict[str, Tensor]]:
    """Means over all processes, weighted by their samples, in one exchange.

    Of losses that are means over a batch, that are the gradients and the metrics of all
    processes' batches taken together.

    Args:
        gradients: In an order that is the same everywhere; None where there is none.
        logs: Metrics, 0-dim tensors or numbers, the same ones everywhere.
        samples: How many this process has.
    """
    present = [gradient for gradient in gradients if gradient is not None]
    device = present[0].device
    metrics = [torch.as_tensor(x, device=device) for x in logs.values()]
    shared = [*present, *metrics]
    flat = torch.cat([x.detach().reshape(-1).float() for x in shared])
    weighed = torch.cat([flat * samples, flat.new_full((1,), float(samples))])
    total = ranks().all_reduce_sum(weighed)
    sizes = [x.numel() for x in shared]
    mean_values = [
        mean.view(x.shape).to(x.dtype)
        for x, mean in zip(shared, (total[:-1] / total[-1]).split(sizes), strict=True)
    ]
    of_all = iter(mean_values[: len(present)])
    means = [None if gradient is None else next(of_all) for gradient in gradients]
    return means, dict(zip(logs, mean_values[len(present) :], strict=True))
