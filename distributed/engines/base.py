"""The gradient step of several processes: base class of engines, and the plainest."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

from yieldrl.core import Config, Loss, averaged, ranks
from yieldrl.core.gradient_step import in_parts, trained_parameters

Compute = Callable[[], tuple[Tensor, dict[str, Any]]]
"""Computes a loss, 0-dim, and metrics to log."""


class Engine(ABC):
    """Makes one model of the copies that several processes learn with.

    All methods are collective: call them in every process, in the same order.

    Args:
        config: The run's config.
        algorithm: With its model and all its optimizers.

    Attributes:
        optimizers: Those of the algorithm, by the names of its attributes.
    """

    def __init__(self, config: Config, algorithm: Any) -> None:
        self.config, self.algorithm = config, algorithm
        self.model: nn.Module = algorithm.model
        parts = vars(algorithm).items()
        self.optimizers = {k: x for k, x in parts if isinstance(x, Optimizer)}
        for _, part in parts:
            if isinstance(part, nn.Module):
                ranks().broadcast_module(part)

    def gradient_step(
        self,
        loss: Loss,
        data: Any,
        optimizer: Optimizer,
        max_grad_norm: float | None,
        micro_batches: int = 1,
    ) -> dict[str, Any]:
        """Take a step on this process's batch `[B]`; the metrics of all processes.

        Of a loss that is a mean over a batch, gradient and metrics are means over those
        of the processes, weighted by their samples. RuntimeError if the optimizer has
        nothing to train.

        Args:
            loss: From the batch to the loss and what to log.
            data: The batch.
            optimizer: Trained are its parameters that require gradients now.
            max_grad_norm: As of `Algorithm.minimize`.
            micro_batches: Number of parts that go through the loss one by one.
        """
        rows = len(data) if micro_batches > 1 else 1
        sizes = ranks().all_gather(torch.tensor([data.numel(), rows]))
        samples, most = sizes.unbind(1)
        share = data.numel() / int(samples.sum())

        def backward(part: Any, weight: float, last: bool) -> dict[str, Any]:
            scale = weight * share * len(samples)
            return self.backward(optimizer, partial(loss, part), scale, last)

        trained = self.trained(optimizer)
        try:
            # As many parts everywhere: their exchanges must meet.
            logs = in_parts(data, min(micro_batches, int(most.min())), backward)
            none = torch.zeros(0, device=trained[0].device)
            _, logs = averaged([none], logs, data.numel())
            norm = self.step(optimizer, max_grad_norm)
        finally:
            for parameter in trained:
                parameter.grad = None
        its = {} if max_grad_norm is None else {"grad_norm": norm}
        return {**logs, **its, "learning_rate": optimizer.param_groups[0]["lr"]}

    def gathered(self) -> AbstractContextManager[Any]:
        """Context in which the whole model can be read and called; not written to."""
        return nullcontext()

    def state_dict(self) -> dict[str, Any]:
        """The algorithm's whole state in every process, as of a run in one process."""
        return self.algorithm.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, here or in a run in one process."""
        self.algorithm.load_state_dict(state)

    def trained(self, optimizer: Optimizer) -> list[nn.Parameter]:
        """The parameters of an optimizer that require gradients now."""
        return trained_parameters(optimizer)

    @abstractmethod
    def backward(
        self, optimizer: Optimizer, compute: Compute, scale: float, last: bool
    ) -> dict[str, Any]:
        """Add a loss's gradients to those of an optimizer's next step; its metrics.

        Args:
            optimizer: Its parameters alone get gradients: means over processes.
            compute: Computes the loss.
            scale: The loss's factor.
            last: Whether the optimizer's step follows.
        """

    def step(
        self, optimizer: Optimizer, max_grad_norm: float | None
    ) -> Tensor | float | None:
        """Clip as `Algorithm.minimize` does, update parameters; the norm before."""
        gradients = [p.grad for p in self.trained(optimizer) if p.grad is not None]
        norm = None if max_grad_norm is None else clip(gradients, max_grad_norm)
        optimizer.step()
        return norm


class LossModule(nn.Module):
    """A module whose forward pass is a loss.

    Engines hook into a module's forward pass, but losses call methods of a model.

    Args:
        parameters: The parameters that it has itself.
    """

    def __init__(self, parameters: Iterable[nn.Parameter] = ()) -> None:
        super().__init__()
        for number, parameter in enumerate(parameters):
            self.register_parameter(f"parameter_{number}", parameter)

    def forward(self, compute: Compute) -> tuple[Tensor, dict[str, Any]]:
        return compute()


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
        now = [id(parameter) for parameter in trained]
        if id(optimizer) not in self.wrapped or self.wrapped[id(optimizer)][0] != now:
            # A loss of several with one optimizer may not use all of its parameters.
            wrapped = LossModule(trained)
            module = DistributedDataParallel(wrapped, find_unused_parameters=True)
            self.wrapped[id(optimizer)] = now, module
        module = self.wrapped[id(optimizer)][1]
        with nullcontext() if last else module.no_sync():
            loss, logs = module(compute)
            (loss * scale).backward(inputs=trained)
        return logs


def clip(gradients: Sequence[Tensor], max_grad_norm: float) -> Tensor:
    """Scale gradients down to a total norm; returns the norm before, 0-dim.

    Sharded ones, `DTensor`s, count as a whole.
    """
    shares = [g.to_local() for g in gradients if isinstance(g, DTensor)]
    rest = [g for g in gradients if not isinstance(g, DTensor)]
    norm = nn.utils.get_total_norm(rest)
    if shares:
        square = nn.utils.get_total_norm(shares).square()
        norm = (norm.to(square.device).square() + ranks().all_reduce_sum(square)).sqrt()
    if max_grad_norm < float("inf"):
        factor = (max_grad_norm / (norm + 1e-6)).clamp(max=1)
        for gradient in (*shares, *rest):
            gradient.mul_(factor)
    return norm
