"""Base class of engines: micro-batches, shares of processes, logs."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from yieldrl.distributed.engines.losses import Compute
from yieldrl.foundations import Config, ranks
from yieldrl.runtime import AccumulatedStep, Loss
from yieldrl.runtime.accumulation import in_parts


class Engine(ABC):
    """Makes one model of the copies that several processes learn with.

    All methods are collective: call them in every process, in the same order.

    Args:
        config: The run's config.
        algorithm: With its model and all its optimizers.
    """

    def __init__(self, config: Config, algorithm: Any) -> None:
        self.config, self.algorithm = config, algorithm
        self.model: nn.Module = algorithm.model
        self._depth = 0
        for part in vars(algorithm).values():
            if isinstance(part, nn.Module):
                ranks().broadcast_module(part)

    def gradient_step(
        self,
        loss: Loss,
        optimizer: Optimizer,
        max_grad_norm: float | None,
        micro_batches: int | None = None,
    ) -> "EngineStep":
        """A `GradientStep` of a loss; see `Runtime.gradient_step`."""
        parts = 1 if micro_batches is None else micro_batches
        options = loss, optimizer, max_grad_norm
        return self.step_class(self, *options, micro_batches=parts)

    @property
    def step_class(self) -> type["EngineStep"]:
        """The class that takes the gradient steps."""
        return EngineStep

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Inside, the whole model can be read and called; writing to it is lost."""
        with nullcontext() if self._depth else self.whole():
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1

    def state_dict(self) -> dict[str, Any]:
        """The algorithm's whole state in every process, as of a run in one process."""
        return self.algorithm.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, here or in a run in one process."""
        self.algorithm.load_state_dict(state)

    def trained(self, optimizer: Optimizer) -> list[nn.Parameter]:
        """The parameters of an optimizer that require gradients now."""
        groups = optimizer.param_groups
        return [p for group in groups for p in group["params"] if p.requires_grad]

    def whole(self) -> AbstractContextManager[Any]:
        """The outermost context of `gathered`."""
        return nullcontext()

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

    @abstractmethod
    def step(
        self, optimizer: Optimizer, max_grad_norm: float | None
    ) -> Tensor | float | None:
        """Clip as `GradientStep` does, and update parameters; the norm before."""


class EngineStep(AccumulatedStep):
    """A gradient step of all processes' batches together, by an engine.

    Of a loss that is a mean over a batch, gradient and metrics are means over those of
    the processes, weighted by their samples. `loss`, `optimizer`, `max_grad_norm`,
    `micro_batches`: see `AccumulatedStep`.
    """

    def __init__(
        self,
        engine: Engine,
        loss: Loss,
        optimizer: Optimizer,
        max_grad_norm: float | None = None,
        *,
        micro_batches: int = 1,
    ) -> None:
        super().__init__(loss, optimizer, max_grad_norm, micro_batches=micro_batches)
        self.engine = engine

    def __call__(self, data: Any) -> dict[str, Any]:
        """Take one step on this process's batch `[B]`; the metrics of all processes.

        Raises:
            RuntimeError: If no parameter of the optimizer requires a gradient.
        """
        trained = self.trained_parameters()
        try:
            logs = self.gradients(data, trained)
            norm = self.engine.step(self.optimizer, self.max_grad_norm)
        finally:
            for parameter in trained:
                parameter.grad = None
        if self.max_grad_norm is not None:
            logs["grad_norm"] = norm
        logs["learning_rate"] = self.optimizer.param_groups[0]["lr"]
        return logs

    def trained_parameters(self) -> list[nn.Parameter]:
        """The parameters of the optimizer that require gradients now."""
        return self.engine.trained(self.optimizer) or super().trained_parameters()

    def gradients(self, data: Any, trained: Sequence[nn.Parameter]) -> dict[str, Any]:
        """Give the engine the gradients of each part; the means of the metrics."""
        rows = len(data) if self.micro_batches > 1 else 1
        own = torch.tensor([data.numel(), rows])
        samples, most = ranks().all_gather(own).unbind(1)
        share = data.numel() / int(samples.sum())

        def backward(part: Any, weight: float, last: bool) -> dict[str, Any]:
            scale = weight * share * len(samples)
            compute = partial(self.loss, part)
            return self.engine.backward(self.optimizer, compute, scale, last)

        # As many parts everywhere: their exchanges must meet.
        logs = in_parts(data, min(self.micro_batches, int(most.min())), backward)
        return _means(logs, share, trained[0].device)


def _means(logs: dict[str, Any], share: float, device: torch.device) -> dict[str, Any]:
    """Metrics, 0-dim tensors or numbers, as sums of the shares of all processes."""
    if not logs:
        return {}
    total = ranks().all_reduce_sum(in_one(logs, device) * share)
    return apart(total, logs)


def in_one(logs: Mapping[str, Any], device: torch.device) -> Tensor:
    """Metrics, 0-dim tensors or numbers, as one tensor `[K]`, float32, detached."""
    if not logs:
        return torch.zeros(0, device=device)
    every = [torch.as_tensor(x, device=device).detach() for x in logs.values()]
    return torch.stack([x.float() for x in every])


def apart(values: Tensor, logs: Mapping[str, Any]) -> dict[str, Any]:
    """Values `[K]` by the names of metrics, each of its dtype."""
    found = zip(logs.items(), values.unbind(), strict=True)
    return {k: value.to(torch.as_tensor(x).dtype) for (k, x), value in found}
