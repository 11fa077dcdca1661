"""Execution of functions of tensors: compiled or eager, and in which precision."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from yieldrl.foundations import Config
from yieldrl.foundations.compiled import Compiled
from yieldrl.runtime.accumulation import AccumulatedStep
from yieldrl.runtime.gradient_step import GradientStep, Loss
from yieldrl.runtime.precision import in_precision


class Runtime:
    """Executes the losses of one learner, and what it evaluates of rollouts.

    Functions keep their meaning: compiled or eager, the results are equal to rounding.

    Args:
        config: Says `compile` and `precision`.
        device: Where the tensors are.

    Attributes:
        engine: What takes the gradient steps of processes that learn together, see
            `yieldrl.distributed`; None where there is no need of one.
    """

    def __init__(self, config: Config, device: torch.device) -> None:
        self.config, self.device = config, device
        self.engine: Any = None
        self._losses: dict[str, tuple[LatestLoss, Loss]] = {}

    def function(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of tensors, compiled if the config says so."""
        rounded = in_precision(self.config.precision, self.device, function)
        return Compiled(name, rounded) if self.config.compile else rounded

    def executed(self, loss: Loss) -> Loss:
        """A loss as the config says: compiled, in fewer digits, or as it is."""
        if not self.config.compile and self.config.precision == "float32":
            return loss
        name = getattr(loss, "__name__", "loss")
        if name not in self._losses:
            latest = LatestLoss(name)
            function = self.function(f"gradient step ({name})", latest)
            self._losses[name] = latest, function
        latest, function = self._losses[name]
        latest.function = loss  # a new closure in each step may have the same code
        return function

    def gradient_step(
        self,
        loss: Loss,
        optimizer: Optimizer,
        max_grad_norm: float | None,
        micro_batches: int | None = None,
    ) -> GradientStep | None:
        """A step by the engine, or accumulated; None for the one of `minimize`.

        Args:
            loss: From a batch to the loss and metrics.
            optimizer: Says what is trained.
            max_grad_norm: Gradients are scaled down to it; None leaves them.
            micro_batches: Into how many parts a batch is cut to save memory, if it is.
        """
        if self.engine is not None:
            options = self.executed(loss), optimizer, max_grad_norm, micro_batches
            return self.engine.gradient_step(*options)
        if micro_batches is None:
            return None
        options = self.executed(loss), optimizer, max_grad_norm
        return AccumulatedStep(*options, micro_batches=micro_batches)

    def gathered(self) -> AbstractContextManager[Any]:
        """Context in which the whole model can be read, though processes share it."""
        return nullcontext() if self.engine is None else self.engine.gathered()


class LatestLoss:
    """A loss with a name, whose `function` can be replaced at each step."""

    function: Loss

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, data: Any) -> tuple[Tensor, dict[str, Any]]:
        return self.function(data)
