"""A whole model in each process: `DistributedDataParallel`."""

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

from yieldrl.distributed.engines.base import Engine, EngineStep, apart, in_one
from yieldrl.distributed.engines.losses import Compute, clip
from yieldrl.foundations import Config, ranks
from yieldrl.runtime.accumulation import in_parts

MAX_METRICS = 255
"""Most metrics of a loss that fit beside its gradients."""


class DDPEngine(Engine):
    """PyTorch's `DistributedDataParallel`: whole copies exchange their gradients.

    Attributes:
        wrapped: The module that computes the losses of each optimizer, with what is
            trained.
    """

    def __init__(self, config: Config, algorithm: Any) -> None:
        super().__init__(config, algorithm)
        self.wrapped: dict[int, tuple[list[int], DistributedDataParallel]] = {}

    @property
    def step_class(self) -> type[EngineStep]:
        """The class that takes the gradient steps."""
        return DDPStep

    def backward(
        self, optimizer: Optimizer, compute: Compute, scale: float, last: bool
    ) -> dict[str, Any]:
        trained = self.trained(optimizer)
        module = self.module(optimizer, trained)
        measured = cast(MeasuredLoss, module.module)
        with nullcontext() if last else module.no_sync():
            loss = module(compute)
            (loss * scale).backward(inputs=[*trained, measured.beside])
        return measured.logs

    def step(self, optimizer: Optimizer, max_grad_norm: float | None) -> Tensor | None:
        gradients = [p.grad for p in self.trained(optimizer) if p.grad is not None]
        norm = None if max_grad_norm is None else clip(gradients, max_grad_norm)
        optimizer.step()
        return norm

    def module(
        self, optimizer: Optimizer, trained: Sequence[nn.Parameter]
    ) -> DistributedDataParallel:
        """The DDP module of an optimizer's losses; renewed if other parts are trained.

        It ignores the model's other parameters.
        """
        now = [id(parameter) for parameter in trained]
        known = self.wrapped.get(id(optimizer))
        if known is None or known[0] != now:
            module = DistributedDataParallel(
                MeasuredLoss(trained),
                find_unused_parameters=True,  # other losses may use them
            )
            known = self.wrapped[id(optimizer)] = now, module
        return known[1]


class MeasuredLoss(nn.Module):
    """A loss whose metrics are gradients too, so that one exchange averages all.

    Attributes:
        beside: Zeros whose gradient is 1, and then the metrics in their order.
        logs: The metrics of the last call.
    """

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        super().__init__()
        self.trained = nn.ParameterList(parameters)
        zeros = torch.zeros(1 + MAX_METRICS, device=parameters[0].device)
        self.beside = nn.Parameter(zeros)
        self.logs: dict[str, Any] = {}

    def forward(self, compute: Compute) -> Tensor:
        loss, logs = compute()
        self.logs = logs
        if len(logs) > MAX_METRICS:
            raise ValueError(
                f"a loss with {len(logs)} metrics: engine = 'ddp' takes {MAX_METRICS}"
            )
        told = torch.cat([self.beside.new_ones(1), in_one(logs, self.beside.device)])
        return loss + self.beside[: len(told)] @ told


class DDPStep(EngineStep):
    """Averages gradients, metrics and the sizes of batches in one exchange."""

    engine: DDPEngine

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._usual = 0.0  # samples of a batch, the same number in every process

    def gradients(self, data: Any, trained: Sequence[nn.Parameter]) -> dict[str, Any]:
        """Give the engine the gradients of each part; the means of the metrics."""
        if not self._usual:
            sizes = ranks().all_gather(torch.tensor([float(data.numel())]))
            self._usual = max(1.0, float(sizes.mean()))
        module = cast(Any, self.engine.module(self.optimizer, trained).module)
        size = data.numel() / self._usual

        def backward(part: Any, weight: float, last: bool) -> dict[str, Any]:
            compute = partial(self.loss, part)
            return self.engine.backward(self.optimizer, compute, weight * size, last)

        try:
            number = min(self.micro_batches, len(data)) if self.micro_batches > 1 else 1
            logs = in_parts(data, number, backward)
            total = module.beside.grad[: 1 + len(logs)]
        finally:
            module.beside.grad = None
        for parameter in trained:
            if parameter.grad is not None:
                parameter.grad.div_(total[0])
        return apart(total[1:] / total[0], logs)
