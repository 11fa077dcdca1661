"""Convert PyTorch modules and spaces to the JSON values of a policy file."""

import base64
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from gymnasium import Space
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete
from torch import Tensor, nn

from yieldrl.algorithms.dueling_dqn.algorithm import DuelingHead
from yieldrl.foundations import Utf8Text, spaces
from yieldrl.foundations.running_statistics import EPSILON
from yieldrl.networks import MLP, DictEncoder, NatureCNN, ObservationNormalizer
from yieldrl.networks.layers import ACTIVATIONS

Layer = dict[str, Any]


class NotExportableError(ValueError):
    """A policy, or a part of it, cannot be expressed in a policy file."""


def packed(values: Any) -> dict[str, Any]:
    """An array as its shape and its float32 numbers: little-endian, in base64.

    >>> packed([[1.0, -2.0]])
    {'shape': [1, 2], 'float32': 'AACAPwAAAMA='}
    """
    if isinstance(values, Tensor):
        values = values.detach().cpu().numpy()
    array = np.asarray(values, dtype="<f4")
    text = base64.b64encode(array.tobytes()).decode("ascii")
    return {"shape": list(array.shape), "float32": text}


def of_space(space: Space[Any]) -> dict[str, Any]:
    """The description of a space; TypeError if policies do not support it.

    >>> of_space(Discrete(2))
    {'type': 'Discrete', 'n': 2, 'start': 0}
    """
    name = type(space).__name__
    if isinstance(space, Dict):
        return {"type": name, "spaces": {k: of_space(v) for k, v in space.items()}}
    if isinstance(space, Discrete):
        return {"type": name, "n": int(space.n), "start": int(space.start)}
    if isinstance(space, MultiDiscrete):
        start = space.start.tolist()
        return {"type": name, "nvec": space.nvec.tolist(), "start": start}
    if isinstance(space, MultiBinary):
        return {"type": name, "shape": list(space.shape)}
    if isinstance(space, Box):
        kind = {"shape": list(space.shape), "dtype": str(space.dtype)}
        return {"type": "Box", **kind, **bounds(space)}
    raise TypeError(f"{space}: spaces of this kind are not exported")


def bounds(space: Box) -> dict[str, Any]:
    """`low` and `high`, flat: a number if all are alike, null for infinite ones."""
    found: dict[str, Any] = {}
    for name in ("low", "high"):
        values = getattr(space, name).flatten()
        flat = [float(v) if np.isfinite(v) else None for v in values.tolist()]
        found[name] = flat[0] if flat and all(v == flat[0] for v in flat) else flat
    return found


def inputs_of(
    space: Space[Any],
    encoder: nn.Module,
    normalizer: ObservationNormalizer | None = None,
    path: spaces.Path = (),
) -> Iterator[dict[str, Any]]:
    """The preprocessing of each leaf of the observations, in the encoder's order."""
    if isinstance(encoder, DictEncoder):
        assert isinstance(space, Dict)
        for name, part in zip(encoder.names, encoder.parts, strict=True):
            yield from inputs_of(space[name], part, normalizer, (*path, name))
        return
    layers: list[Layer] = []
    if normalizer is not None and path in normalizer.paths:
        moments: Any = normalizer.moments[normalizer.paths.index(path)]
        mean, std = moments.mean.flatten(), (moments.var + EPSILON).sqrt().flatten()
        layer = {"type": "normalize", "mean": packed(mean), "std": packed(std)}
        layers.append({**layer, "limit": normalizer.limit})
    yield {"path": list(path), "layers": [*layers, *_encoded(space, encoder)]}


def _encoded(space: Space[Any], encoder: nn.Module) -> list[Layer]:
    if isinstance(space, Utf8Text):
        raise NotExportableError(
            "it reads sentences as bytes, which a JSON policy cannot: choose --format"
            " onnx"
        )
    if isinstance(encoder, NatureCNN):
        return _image(space, encoder)
    if isinstance(space, Discrete):
        return [_one_hot([int(space.n)], [int(space.start)])]
    if isinstance(space, MultiDiscrete):
        return [_one_hot(space.nvec.flatten().tolist(), space.start.flatten().tolist())]
    return []  # numbers need no preprocessing


def _one_hot(counts: list[int], starts: list[int]) -> Layer:
    return {"type": "one_hot", "counts": counts, "starts": starts}


def _image(space: Space[Any], encoder: NatureCNN) -> list[Layer]:
    assert isinstance(space, Box)
    layers: list[Layer] = []
    shape = list(space.shape)
    if encoder.channels_last:
        layers.append({"type": "channels_first", "shape": shape})
        height, width, channels = shape
        shape = [channels, height, width]
    scale = torch.as_tensor(encoder.scale).flatten()
    if (scale != 1).any():
        layers.append(affine(scale, [0.0]))
    for part in encoder.convolutions:
        if isinstance(part, nn.Conv2d):
            stride, kernel = part.stride[0], part.kernel_size[0]
            layer = {"type": "conv2d", "shape": shape, "stride": stride}
            weights = {"weight": packed(part.weight), "bias": packed(part.bias)}
            layers.append({**layer, **weights})
            sizes = [(side - kernel) // stride + 1 for side in shape[1:]]
            shape = [part.out_channels, *sizes]
        elif isinstance(part, nn.ReLU):
            layers.append({"type": "relu"})
    first, *others = layers_of(encoder.head)
    if encoder.channels_last:  # a JSON policy flattens features channel by channel
        head = encoder.head[0]
        assert isinstance(head, nn.Linear)
        weight = head.weight.unflatten(1, (*shape[1:], shape[0]))
        first = linear(weight.permute(0, 3, 1, 2).flatten(1), head.bias)
    return [*layers, first, *others]


def layers_of(module: nn.Module) -> list[Layer]:
    """The layers of an MLP, of a sequence, or of the two streams of a dueling head."""
    if isinstance(module, nn.Sequential):
        return [layer for part in module for layer in layers_of(part)]
    if isinstance(module, nn.Linear):
        return [linear(module.weight, module.bias)]
    if isinstance(module, nn.ReLU):
        return [{"type": "relu"}]
    if isinstance(module, MLP):
        (name,) = (k for k, v in ACTIVATIONS.items() if v is module.activation)
        found: list[Layer] = []
        for layer in module.layers:
            found += [{"type": name}] if found else []
            found += layers_of(layer)
        return found
    if isinstance(module, DuelingHead):
        shared = module.shared
        found = [] if shared is None else [*layers_of(shared), {"type": "relu"}]
        actions, per_action = module.shape
        sizes = {"actions": actions, "per_action": per_action}
        names = "state_value", "advantage"
        streams = {name: layers_of(getattr(module, name)) for name in names}
        return [*found, {"type": "dueling", **sizes, **streams}]
    raise NotExportableError(
        f"it has a {type(module).__name__}, which a JSON policy cannot say: choose"
        " --format onnx"
    )


def linear(weight: Any, bias: Any) -> Layer:
    """`y = W x + b`, with weights `[outputs, inputs]`."""
    return {"type": "linear", "weight": packed(weight), "bias": packed(bias)}


def affine(scale: Any, offset: Any) -> Layer:
    """`y = scale * x + offset`; a single number applies to all elements."""
    return {"type": "affine", "scale": packed(scale), "offset": packed(offset)}
