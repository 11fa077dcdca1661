"""Contexts of learning: train mode, and parameters that do not learn meanwhile."""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from yieldrl.networks import set_train_mode

_SAME_IN_BOTH_MODES = (
    nn.AvgPool1d,
    nn.AvgPool2d,
    nn.Conv1d,
    nn.Conv2d,
    nn.Conv3d,
    nn.ELU,
    nn.Embedding,
    nn.Flatten,
    nn.GELU,
    nn.GroupNorm,
    nn.Identity,
    nn.LayerNorm,
    nn.LeakyReLU,
    nn.Linear,
    nn.MaxPool1d,
    nn.MaxPool2d,
    nn.ModuleDict,
    nn.ModuleList,
    nn.ParameterDict,
    nn.ParameterList,
    nn.ReLU,
    nn.Sequential,
    nn.SiLU,
    nn.Sigmoid,
    nn.Softmax,
    nn.Softplus,
    nn.Tanh,
    nn.Unflatten,
)


class LearningMode:
    """A context in which a model is in train mode, as `nn.Dropout` and others want it.

    What is frozen stays in eval mode, see `set_train_mode`. To switch costs as much as
    a narrow layer, so it is left out for models of which every part is known to ignore
    the mode: a few of PyTorch's layers, and the modules of this package, while no hook
    is attached to them. All others are switched.

    Args:
        model: The model; it is in eval mode outside.
    """

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self._switched = False

    @property
    def matters(self) -> bool:
        """Whether a part of the model, as it is now, may look at the mode."""
        return not all(map(_ignores_mode, self.model.modules()))

    def __enter__(self) -> None:
        self._switched = self.matters
        if self._switched:
            set_train_mode(self.model)

    def __exit__(self, *_: object) -> None:
        if self._switched:
            self.model.eval()

    def check_finite(self, loss: Any, when: str) -> None:
        """Raise FloatingPointError, naming parameters, if a loss is not finite."""
        if loss is None or math.isfinite(loss):
            return
        parameters = self.model.named_parameters()
        broken = [k for k, p in parameters if not bool(torch.isfinite(p).all())]
        raise FloatingPointError(
            f"the loss became {float(loss)} at {when}; parameters that are not finite:"
            f" {broken or 'none yet'}. Lower the learning rate, or look for extreme"
            " observations and rewards in the environment"
        )


@contextmanager
def frozen(parameters: Iterable[nn.Parameter]) -> Iterator[None]:
    """Inside, these parameters require no gradients; then those do that did before."""
    learning = [p for p in parameters if p.requires_grad]
    for parameter in learning:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in learning:
            parameter.requires_grad_(True)


def _ignores_mode(part: nn.Module) -> bool:
    if part._forward_pre_hooks or part._forward_hooks:  # spectral_norm reads the mode
        return False
    kind = type(part)
    return kind in _SAME_IN_BOTH_MODES or kind.__module__.startswith("yieldrl.")
