"""One gradient step: backward pass, averaging over processes, clipping, optimizer."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from yieldrl.foundations.ranks import ranks
from yieldrl.runtime.averaging import averaged

Loss = Callable[[Any], tuple[Tensor, dict[str, Any]]]
"""From a batch `[B]` to the loss (0-dim) and metrics to log (detached, 0-dim)."""


class LatestLoss:
    """A loss with a name, whose `function` can be replaced at each step."""

    function: Loss

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, data: Any) -> tuple[Tensor, dict[str, Any]]:
        return self.function(data)


class GradientStep:
    """Gradients of a loss, clipped if wanted, and one step of an optimizer.

    Trained are the parameters of the optimizer that require gradients; other parameters
    that the loss depends on get none. Several processes (see `yieldrl.foundations`)
    take the step of all their batches together. To accumulate gradients or to scale a
    loss, override `gradients`; to clip in another way, `clip`.

    Args:
        loss: From a batch to the loss and what to log. Results per sample, such as
            priorities, it writes into the batch.
        optimizer: Any of PyTorch's optimizers, with all its options.
        max_grad_norm: Gradients are scaled down to this norm; `inf` measures the norm
            only, None does neither.
        trains_all: Whether the loss depends only on the optimizer's parameters. Then
            the gradients of others need not be excluded, which takes time.

    >>> import torch
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
        self,
        loss: Loss,
        optimizer: Optimizer,
        max_grad_norm: float | None = None,
        *,
        trains_all: Callable[[], bool] = lambda: False,
    ) -> None:
        self.loss = loss
        self.optimizer = optimizer
        self.max_grad_norm = max_grad_norm
        self.trains_all = trains_all

    def __call__(self, data: Any) -> dict[str, Any]:
        """Take one step on a batch `[B]`; metrics of the loss and of the step.

        RuntimeError if no parameter of the optimizer requires a gradient.
        """
        trained = self.trained_parameters()
        try:
            logs = self.gradients(data, trained)
            if ranks().count > 1:
                found = [parameter.grad for parameter in trained]
                means, logs = averaged(found, logs, data.numel())
                for parameter, mean in zip(trained, means, strict=True):
                    parameter.grad = mean
            if self.max_grad_norm is not None:
                logs["grad_norm"] = self.clip(trained)
            self.optimizer.step()
        finally:  # the next step begins without gradients
            self.optimizer.zero_grad()
        logs["learning_rate"] = self.optimizer.param_groups[0]["lr"]
        return logs

    def trained_parameters(self) -> list[nn.Parameter]:
        """The parameters of the optimizer that require gradients now."""
        groups = self.optimizer.param_groups
        trained = [p for group in groups for p in group["params"] if p.requires_grad]
        if not trained:
            raise RuntimeError(
                f"there is nothing to train: every parameter of"
                f" {type(self.optimizer).__name__} has requires_grad=False. Unfreeze"
                " some, or leave this step out"
            )
        return trained

    def gradients(self, data: Any, trained: Sequence[nn.Parameter]) -> dict[str, Any]:
        """Fill `grad` of the trained parameters; what to log of the loss."""
        loss, logs = self.loss(data)
        loss.backward(inputs=None if self.trains_all() else trained)
        return logs

    def clip(self, trained: Sequence[nn.Parameter]) -> Tensor:
        """Scale the gradients down to `max_grad_norm`; the norm before, 0-dim."""
        norm = nn.utils.get_total_norm([p.grad for p in trained if p.grad is not None])
        if self.max_grad_norm is not None and self.max_grad_norm < float("inf"):
            nn.utils.clip_grads_with_norm_(trained, self.max_grad_norm, norm)
        return norm
