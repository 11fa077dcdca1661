"""A whole model in each process: `DistributedDataParallel`."""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

from yieldrl.core import Config
from yieldrl.distributed.engines.base import Compute, Engine, LossModule


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
        module = self._module(optimizer, trained)
        with nullcontext() if last else module.no_sync():
            loss, logs = module(compute)
            (loss * scale).backward(inputs=trained)
        return logs

    def _module(
        self, optimizer: Optimizer, trained: Sequence[nn.Parameter]
    ) -> DistributedDataParallel:
        """The module of an optimizer's losses; renewed if other parts are trained."""
        now = [id(parameter) for parameter in trained]
        if id(optimizer) not in self.wrapped or self.wrapped[id(optimizer)][0] != now:
            # A loss of several with one optimizer may not use all of its parameters.
            module = DistributedDataParallel(
                LossModule(trained), find_unused_parameters=True
            )
            self.wrapped[id(optimizer)] = now, module
        return self.wrapped[id(optimizer)][1]
