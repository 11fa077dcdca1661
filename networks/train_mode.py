"""Settings of whole models: float32, frozen parts, train and eval mode."""

import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.dropout import _DropoutNd

from yieldrl.core.text import listed


def in_float32(model: nn.Module, device: torch.device) -> nn.Module:
    """The model on a device. Its float64 becomes float32 if that is PyTorch's default,
    so that nobody asked for it, or if the device has none."""
    if torch.get_default_dtype() is torch.float64 or device.type == "mps":
        for tensor in itertools.chain(model.parameters(), model.buffers()):
            if tensor.dtype == torch.float64:
                tensor.data = tensor.data.float()  # in place: others refer to it
    return model.to(device)


def depends_on_mode(model: nn.Module) -> bool:
    """Whether a part of a model may compute something else in train mode.

    To switch the mode costs as much as a narrow layer, and most layers ignore it. All
    classes but PyTorch's and those of this package, and all parts with hooks, may look
    at it.

    >>> depends_on_mode(nn.Sequential(nn.Linear(2, 2), nn.Tanh()))
    False
    >>> depends_on_mode(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.1)))
    True
    """
    for part in model.modules():
        if part._forward_pre_hooks or part._forward_hooks:  # spectral_norm reads it
            return True
        ours = type(part).__module__.startswith(("torch.nn.modules.", "yieldrl."))
        if not ours or isinstance(part, _READ_THE_MODE):
            return True
    return False


def set_train_mode(model: nn.Module) -> None:
    """Put a model into train mode, and its frozen parts into eval mode.

    So batch normalization, spectral normalization and dropout of frozen parts do not
    change.

    >>> frozen = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).requires_grad_(False)
    >>> model = nn.Sequential(frozen, nn.Linear(2, 1))
    >>> set_train_mode(model)
    >>> model.training, frozen.training, frozen[1].training
    (True, False, False)
    """
    model.train()
    for part in frozen_parts(model):
        part.eval()


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


def frozen_parts(model: nn.Module) -> list[nn.Module]:
    """The largest parts of a model that have parameters, all of them frozen."""
    trained = [parameter.requires_grad for parameter in model.parameters()]
    if all(trained):
        return []
    if not any(trained):
        return [model]
    return [part for child in model.children() for part in frozen_parts(child)]


def train_mode_concern(model: nn.Module) -> str | None:
    """A sentence that names unfrozen dropout and batch normalization layers of a model;
    None if it has none.

    >>> train_mode_concern(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.1)))[:26]
    'Sequential has Dropout (1)'
    """
    resting = {id(inner) for part in frozen_parts(model) for inner in part.modules()}
    parts = {
        name: type(part).__name__
        for name, part in model.named_modules()
        if id(part) not in resting and _differs(part)
    }
    if not parts:
        return None
    kinds = " and ".join(sorted(set(parts.values())))
    return (
        f"{type(model).__name__} has {kinds} ({listed([*parts])}), which compute"
        " something else in train mode, where it learns, than when acting"
    )


_READ_THE_MODE = (
    _DropoutNd,
    _NormBase,
    nn.RNNBase,
    nn.MultiheadAttention,
    nn.TransformerEncoder,
    nn.TransformerEncoderLayer,
    nn.RReLU,
)


def _differs(part: nn.Module) -> bool:
    if isinstance(part, _DropoutNd):
        return part.p > 0
    if isinstance(part, nn.RNNBase):
        return part.dropout > 0 and part.num_layers > 1
    if isinstance(part, nn.MultiheadAttention):
        return part.dropout > 0
    return isinstance(part, _NormBase) and part.track_running_stats
