"""A policy as JSON: its inputs, its layers with their weights, and its output."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import Space
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
from gymnasium.vector.utils import batch_space
from torch import Tensor, nn

import yieldrl
from yieldrl.abstractions import Agent
from yieldrl.algorithms import ppo_masked, q_learning
from yieldrl.algorithms.dueling_dqn.algorithm import DuelingHead
from yieldrl.core import Utf8Text, spaces
from yieldrl.core.running_statistics import EPSILON
from yieldrl.exports.json_policy import FORMAT, VERSION, JsonPolicy
from yieldrl.loggers.files import write_atomically
from yieldrl.networks import MLP, DictEncoder, NatureCNN, ObservationNormalizer
from yieldrl.networks.encoder import Encoder
from yieldrl.networks.layers import ACTIVATIONS

Layer = dict[str, Any]

TRIED = 64  # random observations on which JSON and agent are compared


class NotExportableError(ValueError):
    """A policy, or a part of it, cannot be expressed in a policy file."""


def write_json(agent: Agent, path: str | Path, **notes: Any) -> Path:
    """Write what `describe` returns to a file, atomically; the same errors."""
    return save(describe(agent, **notes), path)


def save(policy: dict[str, Any], path: str | Path) -> Path:
    """Write what `describe` returned to a file, atomically."""
    text = json.dumps(policy, separators=(",", ":"), allow_nan=False)
    write_atomically(Path(path), text + "\n")
    return Path(path)


def describe(agent: Agent, **notes: Any) -> dict[str, Any]:
    """The deterministic policy of an agent, `agent.predict`, as values of JSON.

    NumPy's actions from it are compared with the agent's on random observations, so a
    custom model with another `forward` is refused. NotExportableError if the format
    cannot express what the policy computes.

    Args:
        agent: Of any algorithm whose policy is a table, an MLP or a small CNN.
        notes: Further values to store under `notes`, such as the mean return.
    """
    policy = {
        "format": FORMAT,
        "version": VERSION,
        "yieldrl": yieldrl.__version__,
        "algorithm": type(agent.algorithm).__module__.split(".")[-2],
        "env_id": agent.config.env_id,
        "sample_step": agent.sample_step,
        "learn_step": agent.learn_step,
        "notes": notes,
        **parts_of(agent),
    }
    space = batch_space(agent.model.observation_space, TRIED)
    space.seed(0)
    obs = space.sample()
    expected, action = agent.predict(obs), JsonPolicy(policy).predict(obs)
    # Once, two choices may be equally good up to rounding.
    least = 1.0 if isinstance(agent.model.action_space, Box) else 1 - 1 / TRIED
    if np.isclose(action, expected, rtol=1e-4, atol=1e-4).mean() < least:
        raise NotExportableError(
            f"{type(agent.model).__name__} computes something else than its layers say:"
            " choose --to onnx, which follows what it really does"
        )
    return policy


def refuse_memory(agent: Agent) -> None:
    """Raise NotExportableError if actions depend on what was observed before."""
    if agent.has_memory:
        raise NotExportableError(
            f"{type(agent).__module__.split('.')[-2]} remembers its episode, and an"
            " export has no memory: write it by `trainer.agent.export(FILE)`, which"
            " makes a program of torch.export, or train ppo"
        )


def parts_of(agent: Agent) -> dict[str, Any]:
    """The `inputs`, `layers` and `output` of an agent's policy.

    They are found by name: an `actor`, or a `head` of action values, reads what an
    `encoder` makes of the observations, or has it before its layers.
    """
    refuse_memory(agent)
    model: Any = agent.model
    if isinstance(model, ppo_masked.Model):
        raise NotExportableError(
            "ppo_masked looks up what is allowed, which a JSON policy cannot: choose"
            " --to onnx"
        )
    if isinstance(model, q_learning.Model):
        inputs, layers = [{"path": [], "layers": []}], [_table(model)]
        return {"inputs": inputs, "layers": layers, "output": _output(model)}
    head = getattr(model, "actor", getattr(model, "head", None))
    encoder = getattr(model, "encoder", None)
    if isinstance(head, nn.Sequential) and isinstance(head[0], Encoder):
        encoder, head = head[0], head[1:]
    if not isinstance(encoder, Encoder) or head is None:
        raise NotExportableError(
            f"a JSON policy is a table, an MLP or a small CNN, not a"
            f" {type(model).__name__} of {type(model).__module__}: play it by `yieldrl"
            " evaluate`"
        )
    layers = layers_of(head)
    if model.unit_box:
        layers = [*layers[:-1], *_stretched(model, head)]
    if hasattr(model, "atoms"):  # the mean of every action's
        mean = {"type": "expectation", "actions": model.num_actions}
        layers.append({**mean, "atoms": packed(model.atoms)})
    space = spaces.part(model.observation_space, getattr(model, "actor_obs", ()))
    inputs = list(inputs_of(space, encoder, getattr(model, "normalizer", None)))
    return {"inputs": inputs, "layers": layers, "output": _output(model)}


def _table(model: q_learning.Model) -> Layer:
    """A table: state index to action values."""
    index = model.index
    starts, strides = (x.flatten().tolist() for x in (index.start, index.stride))
    layer = {"type": "table", "values": packed(model.table)}
    return {**layer, "starts": starts, "strides": strides}


def _stretched(model: Any, head: Any) -> list[Layer]:
    """The last layer of an actor, squashed to [-1, 1] and scaled to the bounds.

    Of SAC's it is the mean's part, without that of the standard deviation.
    """
    space = model.action_space
    assert isinstance(space, Box)
    low, high = (x.astype(np.float64).flatten() for x in (space.low, space.high))
    last = [part for part in head.modules() if isinstance(part, nn.Linear)][-1]
    means = linear(last.weight[: len(low)], last.bias[: len(low)])
    scale, offset = packed(high / 2 - low / 2), packed(high / 2 + low / 2)
    return [
        means,
        {"type": "tanh"},
        {"type": "affine", "scale": scale, "offset": offset},
    ]


def _output(model: Any) -> dict[str, Any]:
    """The meaning of the last layer's outputs."""
    space = model.action_space
    kind: dict[str, Any] = {"shape": [*spaces.shape_of(space)]}
    kind["dtype"] = str(space.dtype)
    if isinstance(space, Box):
        if not np.issubdtype(space.dtype, np.floating):
            raise NotExportableError(
                f"actions of {space} are rounded, which a JSON policy cannot: choose"
                " --to onnx"
            )
        bounds = {"low": space.low.flatten(), "high": space.high.flatten()}
        for name, values in bounds.items():
            kind[name] = [float(v) if np.isfinite(v) else None for v in values]
        return {"type": "clip", **kind}
    start = space.start if isinstance(space, Discrete | MultiDiscrete) else 0
    starts = np.broadcast_to(start, kind["shape"]).flatten().tolist()
    return {"type": "argmax", **kind, "counts": spaces.choices(space), "starts": starts}


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
            "it reads sentences as bytes, which a JSON policy cannot: choose --to onnx"
        )
    if isinstance(encoder, NatureCNN):
        return _image(space, encoder)
    if isinstance(space, Discrete | MultiDiscrete):
        starts = np.ravel(space.start).tolist()
        return [{"type": "one_hot", "counts": spaces.choices(space), "starts": starts}]
    return []  # numbers need no preprocessing


def _image(space: Space[Any], encoder: NatureCNN) -> list[Layer]:
    assert isinstance(space, Box)
    layers: list[Layer] = []
    shape = list(space.shape)
    if encoder.channels_last:
        layers.append({"type": "channels_first", "shape": shape})
        height, width, channels = shape
        shape = [channels, height, width]
    scale = torch.as_tensor(encoder.scale).flatten()
    layers.append({"type": "affine", "scale": packed(scale), "offset": packed([0.0])})
    for part in encoder.convolutions:
        if isinstance(part, nn.Conv2d):
            stride, kernel = part.stride[0], part.kernel_size[0]
            layer = {"type": "conv2d", "shape": shape, "stride": stride}
            weights = {"weight": packed(part.weight), "bias": packed(part.bias)}
            layers += [{**layer, **weights}, {"type": "relu"}]
            sizes = [(side - kernel) // stride + 1 for side in shape[1:]]
            shape = [part.out_channels, *sizes]
    head: Any = encoder.head[0]
    weight = head.weight
    if encoder.channels_last:  # a JSON policy flattens features channel by channel
        weight = weight.unflatten(1, (*shape[1:], shape[0]))
        weight = weight.permute(0, 3, 1, 2).flatten(1)
    return [*layers, linear(weight, head.bias), {"type": "relu"}]


def layers_of(module: nn.Module) -> list[Layer]:
    """The layers of an MLP, of a sequence, or of the two streams of a dueling head."""
    if isinstance(module, nn.Sequential):
        return [layer for part in module for layer in layers_of(part)]
    if isinstance(module, nn.Linear):
        return [linear(module.weight, module.bias)]
    if isinstance(module, nn.ReLU | nn.Tanh):
        return [{"type": type(module).__name__.lower()}]
    if isinstance(module, DuelingHead):
        shared = module.shared
        layers = [] if shared is None else [*layers_of(shared), {"type": "relu"}]
        actions, per_action = module.shape
        sizes = {"actions": actions, "per_action": per_action}
        names = "state_value", "advantage"
        streams = {name: layers_of(getattr(module, name)) for name in names}
        return [*layers, {"type": "dueling", **sizes, **streams}]
    if not isinstance(module, MLP):
        raise NotExportableError(
            f"it has a {type(module).__name__}, which a JSON policy cannot say: choose"
            " --to onnx"
        )
    (name,) = (k for k, v in ACTIVATIONS.items() if v is module.activation)
    layers = []
    for layer in module.layers:
        layers += [*layers_of(layer), {"type": name}]
    return layers[:-1]


def linear(weight: Any, bias: Any) -> Layer:
    """`y = W x + b`, with weights `[outputs, inputs]`."""
    return {"type": "linear", "weight": packed(weight), "bias": packed(bias)}
