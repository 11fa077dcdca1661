"""From PyTorch's modules to the layers of a policy file, in the order they apply."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from gymnasium import Space
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
from torch import nn

from yieldrl.algorithms.dueling_dqn.model import DuelingHead
from yieldrl.exports.numbers import packed
from yieldrl.foundations import Utf8Text, spaces
from yieldrl.foundations.running_statistics import EPSILON
from yieldrl.networks import MLP, DictEncoder, NatureCNN, ObservationNormalizer
from yieldrl.networks.layers import ACTIVATIONS

Layer = dict[str, Any]


class NotExportableError(ValueError):
    """A policy, or a part of it, is none of what a policy file can say."""


def inputs_of(
    space: Space[Any],
    encoder: nn.Module,
    normalizer: ObservationNormalizer | None = None,
    path: spaces.Path = (),
) -> Iterator[dict[str, Any]]:
    """For every leaf of the observations what becomes of it, in the encoder's order.

    Raises:
        NotExportableError: If a leaf is a sentence.
    """
    if isinstance(encoder, DictEncoder):
        assert isinstance(space, Dict)
        for name, part in zip(encoder.names, encoder.parts, strict=True):
            yield from inputs_of(space[name], part, normalizer, (*path, name))
        return
    layers = [*_normalized(normalizer, path), *_encoded(space, encoder)]
    yield {"path": list(path), "layers": layers}


def _normalized(
    normalizer: ObservationNormalizer | None, path: spaces.Path
) -> list[Layer]:
    if normalizer is None or path not in normalizer.paths:
        return []
    moments: Any = normalizer.moments[normalizer.paths.index(path)]
    std = (moments.var + EPSILON).sqrt().flatten()
    mean, limit = packed(moments.mean.flatten()), normalizer.limit
    return [{"type": "normalize", "mean": mean, "std": packed(std), "limit": limit}]


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
    return []  # numbers pass as they are


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
            weights = {"weight": packed(part.weight), "bias": packed(_bias(part))}
            layers.append({"type": "conv2d", "shape": shape, "stride": stride})
            layers[-1] |= weights
            sizes = [(side - kernel) // stride + 1 for side in shape[1:]]
            shape = [part.out_channels, *sizes]
        elif isinstance(part, nn.ReLU):
            layers.append({"type": "relu"})
    first, *others = layers_of(encoder.head)
    if encoder.channels_last:  # a JSON policy's head reads channel by channel
        head = encoder.head[0]
        assert isinstance(head, nn.Linear)
        height, width, channels = *shape[1:], shape[0]
        weight = head.weight.unflatten(1, (height, width, channels))
        first = linear(weight.permute(0, 3, 1, 2).flatten(1), _bias(head))
    return [*layers, first, *others]


def layers_of(module: nn.Module) -> list[Layer]:
    """The layers of an MLP, of a sequence, or of the two streams of a dueling head.

    Raises:
        NotExportableError: If it is something else.
    """
    if isinstance(module, nn.Sequential):
        return [layer for part in module for layer in layers_of(part)]
    if isinstance(module, nn.Linear):
        return [linear(module.weight, _bias(module))]
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
        return _dueling(module)
    raise NotExportableError(
        f"it has a {type(module).__name__}, which a JSON policy cannot say: choose"
        " --format onnx"
    )


def _dueling(head: DuelingHead) -> list[Layer]:
    shared = [] if head.shared is None else [*layers_of(head.shared), {"type": "relu"}]
    actions, per_action = head.shape
    streams = {
        "state_value": layers_of(head.state_value),
        "advantage": layers_of(head.advantage),
    }
    sizes = {"actions": actions, "per_action": per_action}
    return [*shared, {"type": "dueling", **sizes, **streams}]


def linear(weight: Any, bias: Any) -> Layer:
    """`y = W x + b`, with weights `[outputs, inputs]`."""
    return {"type": "linear", "weight": packed(weight), "bias": packed(bias)}


def affine(scale: Any, offset: Any) -> Layer:
    """`y = scale * x + offset`; one number stands for all."""
    return {"type": "affine", "scale": packed(scale), "offset": packed(offset)}


def _bias(layer: nn.Linear | nn.Conv2d) -> Any:
    assert layer.bias is not None
    return layer.bias
