"""One gradient step: backward pass, averaging over processes, clipping, optimizer."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from yieldrl.core.ranks import ranks

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
        found = [parameter.grad for parameter in trained]
        means, of_all = averaged(found, logs, data.numel())
        logs |= of_all
        for parameter, mean in zip(trained, means, strict=True):
            parameter.grad = mean
    if max_grad_norm is not None:
        gradients = [p.grad for p in trained if p.grad is not None]
        logs["grad_norm"] = norm = nn.utils.get_total_norm(gradients)
        if max_grad_norm < float("inf"):
            nn.utils.clip_grads_with_norm_(trained, max_grad_norm, norm)
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


class GradientStep:
    """A gradient step that is taken otherwise than `Algorithm.minimize` takes it.

    To accumulate gradients or to scale a loss, override `gradients`.

    Args:
        loss: From a batch to the loss and what to log. Results per sample, such as
            priorities, it writes into the batch.
        optimizer: Any of PyTorch's optimizers, with all its options. Trained are its
            parameters that require gradients; others get none.
        max_grad_norm: See `apply_gradients`.

    >>> weight = nn.Parameter(torch.tensor([1.0, 2.0]))
    >>> step = GradientStep(
    ...     lambda x: ((weight * x).sum(), {}), torch.optim.SGD([weight], lr=0.1)
    ... )
    >>> step(torch.tensor([1.0, 5.0]))
    {'learning_rate': 0.1}
    >>> weight.data
    tensor([0.9000, 1.5000])
    """

    def __init__(
        self, loss: Loss, optimizer: Optimizer, max_grad_norm: float | None = None
    ) -> None:
        self.loss, self.optimizer = loss, optimizer
        self.max_grad_norm = max_grad_norm

    def __call__(self, data: Any) -> dict[str, Any]:
        """Take one step on a batch `[B]`; metrics of the loss and of the step."""
        trained, optimizer = trained_parameters(self.optimizer), self.optimizer
        try:
            logs = self.gradients(data, trained)
            apply_gradients(optimizer, trained, logs, data, self.max_grad_norm)
        finally:  # the next step begins without gradients
            optimizer.zero_grad()
        return logs

    def gradients(self, data: Any, trained: Sequence[nn.Parameter]) -> dict[str, Any]:
        """Fill `grad` of the trained parameters; what to log of the loss."""
        loss, logs = self.loss(data)
        loss.backward(inputs=trained)
        return logs


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
    known = [gradient for gradient in gradients if gradient is not None]
    device = known[0].device
    metrics = [torch.as_tensor(x, device=device) for x in logs.values()]
    own = [*known, *metrics]
    flat = torch.cat([x.detach().reshape(-1).float() for x in own])
    weighed = torch.cat([flat * samples, flat.new_full((1,), float(samples))])
    total = ranks().all_reduce_sum(weighed)
    sizes = [x.numel() for x in own]
    found = [
        mean.view(x.shape).to(x.dtype)
        for x, mean in zip(own, (total[:-1] / total[-1]).split(sizes), strict=True)
    ]
    of_all = iter(found[: len(known)])
    means = [None if gradient is None else next(of_all) for gradient in gradients]
    return means, dict(zip(logs, found[len(known) :], strict=True))
