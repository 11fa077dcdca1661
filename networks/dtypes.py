"""Models compute in float32, whatever PyTorch's default dtype is."""

import itertools

import torch
from torch import nn


def in_float32(model: nn.Module) -> nn.Module:
    """The model itself, its float64 made float32 if that is PyTorch's default dtype."""
    if torch.get_default_dtype() is not torch.float64:
        return model
    for tensor in itertools.chain(model.parameters(), model.buffers()):
        if tensor.dtype == torch.float64:
            tensor.data = tensor.data.float()  # in place: who holds it keeps it
    return model
