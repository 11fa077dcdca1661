"""Execution of functions of tensors: compiled or eager, and in which precision."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Literal, ParamSpec, TypeVar

import torch
from torch import Tensor
from torch.optim import Optimizer

from yieldrl.core.compiled import Compiled
from yieldrl.core.config import Config
from yieldrl.core.gradient_step import Loss, RecordedStep
from yieldrl.core.ranks import ranks
from yieldrl.core.recorded import DEVICES
from yieldrl.core.trees import map_tensors

Precision = Literal["float32", "bfloat16"]

Inputs = ParamSpec("Inputs")
Result = TypeVar("Result")


class Runtime:
    """Executes the losses of one learner, and what it evaluates of rollouts.

    Functions keep their meaning: compiled or eager, the results are equal to rounding.

    Args:
        config: Says `compile` and `precision`.
        device: Where the tensors are.

    Attributes:
        records: Whether gradient steps, and collecting, are recorded as CUDA graphs.
        engine: What takes the gradient steps of processes that learn together, see
            `yieldrl.distributed`; None where there is no need of one.
    """

    def __init__(self, config: Config, device: torch.device) -> None:
        self.config, self.device = config, device
        self.engine: Any = None
        if config.compile and config.uncompiled and device.type not in DEVICES:
            raise config.error("compile", f"{config.uncompiled}: leave it out")
        self.records = config.compile and device.type in DEVICES
        self._losses: dict[str, tuple[LatestLoss, Loss]] = {}
        self._steps: dict[Any, RecordedStep] = {}

    def function(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of tensors, compiled if the config says so."""
        rounded = in_precision(self.config.precision, self.device, function)
        compiles = self.config.compile and not self.config.uncompiled
        return Compiled(name, rounded) if compiles else rounded

    def executed(
        self, algorithm: Any, step: Callable[..., Any], loss: Loss
    ) -> tuple[Callable[..., Any], Loss]:
        """A gradient step and its loss as the config says: compiled, in fewer digits,
        and on a GPU recorded as one CUDA graph, unless the loss is made anew each time
        or several processes learn together."""
        name = getattr(loss, "__name__", "loss")
        if name not in self._losses:
            latest = LatestLoss(name)
            function = self.function(f"gradient step ({name})", latest)
            self._losses[name] = latest, function
        latest, function = self._losses[name]
        latest.function = loss  # a new closure in each step may have the same code
        alone = self.engine is None and ranks().count == 1
        of = getattr(loss, "__self__", None)  # whose method it is
        if self.records and alone and of is not None:
            step = partial(self._recorded_step, name, (algorithm, of))
        return step, function

    def _recorded_step(
        self,
        name: str,
        owners: tuple[Any, ...],
        loss: Loss,
        data: Any,
        optimizer: Optimizer,
        *options: Any,
    ) -> dict[str, Any]:
        key = name, id(optimizer), options
        if key not in self._steps:
            made = RecordedStep(name, loss, owners, optimizer, *options)
            self._steps[key] = made
        return self._steps[key](data)

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


def in_precision(
    precision: Precision, device: torch.device, function: Callable[Inputs, Result]
) -> Callable[Inputs, Result]:
    """A function of tensors that multiplies matrices in this precision.

    With `bfloat16` its products, and those of their gradients, are of numbers of eight
    binary digits, which a GPU has units for. Weights, sums and results stay float32.
    Nothing must be scaled, for the range is that of float32 (Micikevicius et al. 2018,
    "Mixed Precision Training", arXiv:1710.03740, had to, with float16). ValueError if
    the device is a GPU that has no such numbers.

    >>> x = torch.tensor([[1.001]])
    >>> in_precision("bfloat16", x.device, torch.mm)(x, x).item()
    1.0
    """
    if precision == "float32":
        return function
    if device.type == "cuda" and not torch.cuda.is_bf16_supported(False):
        name = torch.cuda.get_device_name(device)
        raise ValueError(f"precision: {name} has no bfloat16; choose 'float32'")

    return partial(_rounded, function, device.type)  # which copies with its function


def _rounded(
    function: Callable[Inputs, Result],
    device: str,
    *args: Inputs.args,
    **kwargs: Inputs.kwargs,
) -> Result:
    # A cache of weights would outlive the step that a compiler follows.
    with torch.autocast(device, torch.bfloat16, cache_enabled=False):
        return map_tensors(_widened, function(*args, **kwargs))


def _widened(x: torch.Tensor) -> torch.Tensor:
    return x.float() if x.dtype == torch.bfloat16 else x
