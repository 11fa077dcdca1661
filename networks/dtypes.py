"""Keep models in float32, independent of PyTorch's default dtype."""

import itertools

import torch
from torch import nn


def in_float32(model: nn.Module) -> nn.Module:
    """The model, with float64 converted to float32 if float64 is PyTorch's default."""
    if torch.get_default_dtype() is not torch.float64:
        return model
    for tensor in itertools.chain(model.parameters(), model.buffers()):
        if tensor.dtype == torch.float64:
            tensor.data = tensor.data.float()  # in place: other references stay valid
    return model
