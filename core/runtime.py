"""Execution of functions of tensors: compiled or eager, and in which precision."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Literal, ParamSpec, TypeVar

import torch
from torch import Tensor

from yieldrl.core.compiled import GRAPHS, Compiled
from yieldrl.core.config import Config
from yieldrl.core.gradient_step import Loss
from yieldrl.core.ranks import ranks
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
        if config.compile and config.uncompiled and device.type not in GRAPHS:
            raise config.error("compile", f"{config.uncompiled}: leave it out")
        self.records = config.compile and device.type in GRAPHS
        self._losses: dict[str, tuple[LatestLoss, Loss]] = {}
        self._steps: dict[Any, Callable[[Any], dict[str, Any]]] = {}
        self.recording = False  # a step is inside of another one

    def function(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of tensors, compiled if the config says so."""
        rounded = in_precision(self.config.precision, self.device, function)
        compiles = self.config.compile and not self.config.uncompiled
        return Compiled(name, rounded) if compiles else rounded

    def executed(self, loss: Loss) -> Loss:
        """A loss as the config says: compiled, or in fewer digits."""
        name = getattr(loss, "__name__", "loss")
        if name not in self._losses:
            latest = LatestLoss(name)
            function = self.function(f"gradient step ({name})", latest)
            self._losses[name] = latest, function
        latest, function = self._losses[name]
        latest.function = loss  # a new closure in each step may have the same code
        return function

    def recorded(
        self, algorithm: Any, loss: Any, *options: Any
    ) -> Callable[[Any], dict[str, Any]] | None:
        """The gradient step of a batch that is one CUDA graph; None where there is
        none: on a CPU, in several processes, or if the loss is made anew each time."""
        alone = self.engine is None and ranks().count == 1
        if self.recording or not alone or not hasattr(loss, "__self__"):
            return None
        from yieldrl.core.recorded_step import RecordedStep  # nobody else needs it

        key = loss.__name__, id(options[0]), *options[1:]
        if key not in self._steps:
            self._steps[key] = RecordedStep(algorithm, loss, *options)
        return self._steps[key]

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
