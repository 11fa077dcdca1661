"""Execution of functions of tensors: compiled or eager, and in which precision."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import MethodType
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from yieldrl.foundations import Config, Counters, ranks
from yieldrl.runtime.accumulation import AccumulatedStep
from yieldrl.runtime.compiled_call import CompiledCall
from yieldrl.runtime.compiled_step import CompiledStep
from yieldrl.runtime.gradient_step import GradientStep, Loss
from yieldrl.runtime.precision import in_precision
from yieldrl.speed import Plan


class Runtime:
    """Executes the losses and the acting of one learner, as its config says.

    Functions keep their meaning: compiled or eager, the results are equal to rounding.
    ValueError if a CUDA graph is asked for where there is no GPU.

    Args:
        config: Says `speed`, `precision` and how many gradient steps are ahead.
        device: Where the tensors are.
        counters: Say how many gradient steps were taken.
        kind: Describes learners that have the same compiled code.

    Attributes:
        plan: When functions are compiled, and what was decided so far.
        engine: What takes the gradient steps of processes that learn together, see
            `yieldrl.distributed`; None where there is no need of one.
    """

    def __init__(
        self, config: Config, device: torch.device, counters: Counters, kind: str
    ) -> None:
        self.config, self.device = config, device
        self.engine: Any = None
        mode = "eager" if config.uncompiled else config.speed
        steps, gpu = config.planned_learn_steps(), device.type == "cuda"
        if mode == "cudagraph" and not gpu:
            where = f"a CUDA graph needs a GPU, and this run is on {device}"
            raise config.error("speed", f"{where}: choose 'auto' or 'compile'")
        count = ranks().count
        parts = mode, steps // count, lambda: counters.learn_step
        self.plan = Plan(*parts, gpu=gpu, kind=kind, single_process=count == 1)

    def function(self, name: str, function: Callable[..., Any]) -> CompiledCall:
        """A function of nested tensors and a generator, to be called often.

        Args:
            name: What it does, for the log.
            function: `function(inputs, generator)`, with tensors by their names. A
                method is looked up at each call, for it may be replaced.
        """
        if isinstance(function, MethodType):
            function = partial(_call, function.__self__, function.__name__)
        rounded = in_precision(self.config.precision, self.device, function)
        return CompiledCall(name, rounded, self.plan)

    def gradient_step(
        self,
        loss: Loss,
        optimizer: Optimizer,
        max_grad_norm: float | None,
        model: nn.Module,
        micro_batches: int | None = None,
    ) -> GradientStep:
        """A `GradientStep` of a loss: compiled, accumulated, or by an engine.

        Args:
            loss: From a batch to the loss and metrics.
            optimizer: Says what is trained.
            max_grad_norm: Gradients are scaled down to it; None leaves them.
            model: All that the loss may depend on.
            micro_batches: Into how many parts a batch is cut to save memory. None
                stands for whole batches, whose steps may be compiled.
        """
        name = f"gradient step ({getattr(loss, '__name__', 'loss')})"
        loss = in_precision(self.config.precision, self.device, loss)
        if self.engine is not None:
            options = loss, optimizer, max_grad_norm, micro_batches
            return self.engine.gradient_step(*options)
        all_trained = partial(trains_all, optimizer, model)
        if micro_batches is not None:
            options = {"micro_batches": micro_batches, "trains_all": all_trained}
            return AccumulatedStep(loss, optimizer, max_grad_norm, **options)
        if not self.plan.compiles:
            return GradientStep(loss, optimizer, max_grad_norm, trains_all=all_trained)
        parts = loss, optimizer, max_grad_norm, self.plan
        return CompiledStep(*parts, name=name, trains_all=all_trained)

    def gathered(self) -> AbstractContextManager[Any]:
        """Context in which the whole model can be read, though processes share it."""
        return nullcontext() if self.engine is None else self.engine.gathered()


def _call(owner: Any, name: str, *args: Any) -> Any:
    return getattr(owner, name)(*args)


def trains_all(optimizer: Optimizer, model: nn.Module) -> bool:
    """Whether an optimizer has all of a model's parameters that require gradients."""
    groups = optimizer.param_groups
    own = {id(parameter) for group in groups for parameter in group["params"]}
    return all(id(p) in own for p in model.parameters() if p.requires_grad)
