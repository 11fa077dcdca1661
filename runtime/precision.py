"""Products of matrices in fewer digits, where a config asks for it."""

from collections.abc import Callable
from functools import partial
from typing import Literal, ParamSpec, TypeVar

import torch

from yieldrl.foundations.trees import map_tensors

Precision = Literal["float32", "bfloat16"]

Inputs = ParamSpec("Inputs")
Result = TypeVar("Result")


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
