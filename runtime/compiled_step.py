"""A gradient step whose loss, gradients and clipping are one compiled function."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from yieldrl.foundations import ranks
from yieldrl.runtime.gradient_step import GradientStep, Loss
from yieldrl.speed import pytorch
from yieldrl.speed.compiled import Compiled, NotCompiledError
from yieldrl.speed.plan import Plan


class CompiledStep(GradientStep):
    """`GradientStep` with the loss and its gradients as one compiled function.

    Until there is code, the step is the eager one. The optimizer takes its own step in
    both cases, so its options, hooks and state are what they are. Parameters with hooks
    take eager steps, as code would not call them. `plan`, `name`: see `Compiled`.
    """

    def __init__(
        self,
        loss: Loss,
        optimizer: Optimizer,
        max_grad_norm: float | None,
        plan: Plan,
        *,
        name: str = "gradient step",
        trains_all: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(loss, optimizer, max_grad_norm, trains_all=trains_all)
        self.compiled = Compiled(name, self.loss_and_gradients, plan)
        self.compiled.eager = self.without_code
        self._norm: Tensor | None = None  # if gradients are already clipped

    def gradients(self, data: Any, trained: Sequence[nn.Parameter]) -> dict[str, Any]:
        """Fill `grad` of the trained parameters; what to log of the loss."""
        self._norm, settable = None, pytorch.settable(trained)
        if not settable or not self.compiled.is_due(lambda: (data, trained)):
            return super().gradients(data, trained)
        try:
            found, logs, self._norm = self.compiled(data, trained)
        except NotCompiledError as reason:
            self.compiled.reject(str(reason))
            return super().gradients(data, trained)
        for parameter, gradient in zip(trained, found, strict=True):
            parameter.grad = gradient
        return logs

    def clip(self, trained: Sequence[nn.Parameter]) -> Tensor:
        """Scale the gradients down, unless that is done; the norm before, 0-dim."""
        return super().clip(trained) if self._norm is None else self._norm

    def without_code(self, data: Any, trained: Sequence[nn.Parameter]) -> None:
        """The same by PyTorch's autograd; what it finds is dropped."""
        super().gradients(data, trained)
        super().clip(trained)
        self.optimizer.zero_grad()

    def loss_and_gradients(
        self, data: Any, trained: Sequence[nn.Parameter]
    ) -> tuple[list[Any], dict[str, Any], Tensor | None]:
        """Gradients of the loss on a batch, what to log, and the gradients' norm.

        With a norm they are clipped; several processes clip after averaging.
        """
        with torch.enable_grad():
            loss, logs = self.loss(data)
            found = torch.autograd.grad(loss, trained, allow_unused=True)
        gradients: list[Any] = [
            g if g is None or g.stride() == p.stride() else torch.empty_like(p).copy_(g)
            for g, p in zip(found, trained, strict=True)
        ]  # with the memory layout of the parameters, for optimizers
        if self.max_grad_norm is None or ranks().count > 1:
            return gradients, logs, None
        squares = [g.square().sum() for g in gradients if g is not None]
        norm = torch.stack(squares).sum().sqrt()
        if self.max_grad_norm < float("inf"):
            scale = (self.max_grad_norm / (norm + 1e-6)).clamp(max=1)
            gradients = [g if g is None else g * scale for g in gradients]
        return gradients, logs, norm
