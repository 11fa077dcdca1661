"""Execution of functions of tensors: compiled or eager, and in which precision."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import nn
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

    def function(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of tensors, compiled if the config says so."""
        rounded = in_precision(self.config.precision, self.device, function)
        return Compiled(name, rounded) if self.config.compile else rounded

    def gradient_step(
        self,
        loss: Loss,
        optimizer: Optimizer,
        max_grad_norm: float | None,
        model: nn.Module,
        micro_batches: int | None = None,
    ) -> GradientStep:
        """A `GradientStep` of a loss: accumulated, or by an engine.

        Args:
            loss: From a batch to the loss and metrics.
            optimizer: Says what is trained.
            max_grad_norm: Gradients are scaled down to it; None leaves them.
            model: All that the loss may depend on.
            micro_batches: Into how many parts a batch is cut to save memory, if it is.
        """
        name = getattr(loss, "__name__", "loss")
        loss = self.function(f"gradient step ({name})", loss)
        if self.engine is not None:
            options = loss, optimizer, max_grad_norm, micro_batches
            return self.engine.gradient_step(*options)
        all_trained = partial(trains_all, optimizer, model)
        if micro_batches is not None:
            options = {"micro_batches": micro_batches, "trains_all": all_trained}
            return AccumulatedStep(loss, optimizer, max_grad_norm, **options)
        return GradientStep(loss, optimizer, max_grad_norm, trains_all=all_trained)

    def gathered(self) -> AbstractContextManager[Any]:
        """Context in which the whole model can be read, though processes share it."""
        return nullcontext() if self.engine is None else self.engine.gathered()


def trains_all(optimizer: Optimizer, model: nn.Module) -> bool:
    """Whether an optimizer has all of a model's parameters that require gradients."""
    groups = optimizer.param_groups
    own = {id(parameter) for group in groups for parameter in group["params"]}
    return all(id(p) in own for p in model.parameters() if p.requires_grad)
