"""A whole model in each process: `DistributedDataParallel`."""

from contextlib import nullcontext
from typing import Any

from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

from yieldrl.distributed.engines.base import Engine
from yieldrl.distributed.engines.losses import Compute, LossModule, clip
from yieldrl.foundations import Config


class DDPEngine(Engine):
    """PyTorch's `DistributedDataParallel`: whole copies exchange their gradients.

    Attributes:
        wrapped: The module that computes the losses of each optimizer, with what is
            trained.
    """

    def __init__(self, config: Config, algorithm: Any) -> None:
        super().__init__(config, algorithm)
        self.wrapped: dict[int, tuple[list[int], DistributedDataParallel]] = {}

    def backward(
        self, optimizer: Optimizer, compute: Compute, scale: float, last: bool
    ) -> dict[str, Any]:
        trained = self.trained(optimizer)
        module = self.module(optimizer, trained)
        with nullcontext() if last else module.no_sync():
            loss, logs = module(compute)
            (loss * scale).backward(inputs=trained)
        return logs

    def step(self, optimizer: Optimizer, max_grad_norm: float | None) -> Tensor | None:
        gradients = [p.grad for p in self.trained(optimizer) if p.grad is not None]
        norm = None if max_grad_norm is None else clip(gradients, max_grad_norm)
        optimizer.step()
        return norm

    def module(
        self, optimizer: Optimizer, trained: list[nn.Parameter]
    ) -> DistributedDataParallel:
        """What computes an optimizer's losses; made anew when other parts are trained.

        The model's other parameters are no business of it.
        """
        now = [id(parameter) for parameter in trained]
        known = self.wrapped.get(id(optimizer))
        if known is None or known[0] != now:
            module = DistributedDataParallel(
                LossModule(trained),
                find_unused_parameters=True,  # by one of several losses
            )
            known = self.wrapped[id(optimizer)] = now, module
        return known[1]
