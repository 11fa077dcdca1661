"""While a model learns: its train mode, and a watch for numbers that are not."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

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


def set_train_mode(model: nn.Module) -> None:
    """Put a model into train mode, and what is frozen in it into eval mode.

    So a frozen part stays as it is to the bit: batch normalization moves no running
    statistics, spectral normalization takes no step of its power iteration, and
    dropout drops nothing.

    >>> frozen = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).requires_grad_(False)
    >>> model = nn.Sequential(frozen, nn.Linear(2, 1))
    >>> set_train_mode(model)
    >>> model.training, frozen.training, frozen[1].training
    (True, False, False)
    """
    model.train()
    for part in frozen_parts(model):
        part.eval()


def frozen_parts(model: nn.Module) -> list[nn.Module]:
    """The largest parts of a model that have parameters, and none to train.

    A parameter is trained if it requires gradients. A part without parameters, such as
    `nn.Dropout`, belongs to the part around it.
    """
    trained = [parameter.requires_grad for parameter in model.parameters()]
    if all(trained):
        return []
    if not any(trained):
        return [model]
    return [part for child in model.children() for part in frozen_parts(child)]


def drops_or_norms_batches(model: nn.Module) -> dict[str, str]:
    """Parts that compute something else in train mode: their names, and what they are.

    Those are dropout and batch normalization, but for what is frozen. Known are
    PyTorch's own; the mode of the model stays as it is.

    >>> drops_or_norms_batches(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.1)))
    {'1': 'Dropout'}
    """
    before = [(part, part.training) for part in model.modules()]
    set_train_mode(model)
    training = {id(part) for part in model.modules() if part.training}
    for part, mode in before:
        part.training = mode
    return {
        name: type(part).__name__
        for name, part in model.named_modules()
        if id(part) in training and _differs(part)
    }


_DROPOUT = (
    nn.Dropout,
    nn.Dropout1d,
    nn.Dropout2d,
    nn.Dropout3d,
    nn.AlphaDropout,
    nn.FeatureAlphaDropout,
)
_BATCH_NORM = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
_INSTANCE_NORM = (nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d)


def _differs(part: nn.Module) -> bool:
    if isinstance(part, _DROPOUT):
        return part.p > 0
    if isinstance(part, nn.RNNBase):
        return part.dropout > 0 and part.num_layers > 1
    if isinstance(part, nn.MultiheadAttention):
        return part.dropout > 0
    if isinstance(part, _INSTANCE_NORM):
        return part.track_running_stats
    return isinstance(part, _BATCH_NORM)


def _ignores_mode(part: nn.Module) -> bool:
    if part._forward_pre_hooks or part._forward_hooks:  # spectral_norm's reads the mode
        return False
    kind = type(part)
    return kind in _SAME_IN_BOTH_MODES or kind.__module__.startswith("yieldrl.")
