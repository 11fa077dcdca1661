"""A policy as JSON: its inputs, its layers with their weights, and its output."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import Space
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete
from gymnasium.vector.utils import batch_space
from torch import Tensor, nn

import yieldrl
from yieldrl.abstractions import Agent
from yieldrl.algorithms import (
    c51,
    ddpg,
    dqn,
    grpo,
    ppo,
    ppo_masked,
    q_learning,
    reinforce,
    sac,
    sac_discrete,
)
from yieldrl.algorithms.dueling_dqn.algorithm import DuelingHead
from yieldrl.core import Utf8Text, spaces
from yieldrl.core.running_statistics import EPSILON
from yieldrl.exports.json_policy import FORMAT, VERSION, JsonPolicy
from yieldrl.loggers.files import write_atomically
from yieldrl.networks import MLP, DictEncoder, NatureCNN, ObservationNormalizer
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
    model = agent.model
    policy = {
        "format": FORMAT,
        "version": VERSION,
        "yieldrl": yieldrl.__version__,
        "algorithm": type(agent.algorithm).__module__.split(".")[-2],
        "env_id": agent.config.env_id,
        "sample_step": agent.sample_step,
        "learn_step": agent.learn_step,
        "notes": notes,
        "observation_space": of_space(model.observation_space),
        "action_space": of_space(model.action_space),
        **parts_of(agent),
    }
    _try(agent, JsonPolicy(policy))
    return policy


def _try(agent: Agent, policy: JsonPolicy) -> None:
    space = batch_space(agent.model.observation_space, TRIED)
    space.seed(0)
    obs = space.sample()
    expected, action = agent.predict(obs), policy.predict(obs)
    same = np.isclose(action, expected, rtol=1e-4, atol=1e-4)
    if not isinstance(agent.model.action_space, Box):
        same |= policy.undecided(obs, 1e-5).reshape(-1, *[1] * (same.ndim - 1))
    if not same.all():
        raise NotExportableError(
            f"{type(agent.model).__name__} computes something else than its layers say:"
            " choose --format onnx, which follows what it really does"
        )


def refuse_memory(agent: Agent) -> None:
    """Raise NotExportableError if actions depend on what was observed before."""
    if agent.has_memory:
        raise NotExportableError(
            f"{type(agent).__module__.split('.')[-2]} remembers its episode, and an"
            " export has no memory: write it by `trainer.agent.export(FILE)`, which"
            " makes a program of torch.export, or train ppo"
        )


def parts_of(agent: Agent) -> dict[str, Any]:
    """The `inputs`, `layers` and `output` of an agent's policy."""
    refuse_memory(agent)
    model: Any = agent.model
    space, normalizer = model.observation_space, None
    if isinstance(model, q_learning.Model):
        inputs, layers = [{"path": [], "layers": []}], [_table(model)]
        return {"inputs": inputs, "layers": layers, "output": _output(model)}
    if isinstance(model, dqn.Model):
        encoder, layers = model.encoder, layers_of(model.head)
        if isinstance(model, c51.Model):  # the mean of every action's atoms
            mean = {"type": "expectation", "actions": model.num_actions}
            layers.append({**mean, "atoms": packed(model.atoms)})
    elif isinstance(model, ddpg.Model | sac.Model):
        encoder, head = model.actor
        layers = [*layers_of(head), *_stretched(model)]
    elif isinstance(model, sac_discrete.Model):
        encoder, head = model.actor
        layers = layers_of(head)
    elif isinstance(model, ppo_masked.Model):
        raise NotExportableError(
            "ppo_masked looks up what is allowed, which a JSON policy cannot: choose"
            " --format onnx"
        )
    elif isinstance(model, ppo.Model | grpo.Model):
        encoder, normalizer = model.encoder, model.normalizer
        space, layers = spaces.part(space, model.actor_obs), layers_of(model.actor)
    elif isinstance(model, reinforce.Model):
        encoder, layers = model.encoder, layers_of(model.actor)
    else:
        raise NotExportableError(
            f"a JSON policy is a table, an MLP or a small CNN, not a"
            f" {type(model).__name__} of {type(model).__module__}: play it by `yieldrl"
            " evaluate`"
        )
    inputs = list(inputs_of(space, encoder, normalizer))
    return {"inputs": inputs, "layers": layers, "output": _output(model)}


def _table(model: q_learning.Model) -> Layer:
    """A table: state index to action values."""
    index = model.index
    starts, strides = (x.flatten().tolist() for x in (index.start, index.stride))
    if len(starts) == 1 and not strides:
        strides = [1]
    layer = {"type": "table", "values": packed(model.table)}
    return {**layer, "starts": starts, "strides": strides}


def _stretched(model: ddpg.Model | sac.Model) -> list[Layer]:
    """Layers that squash an actor's output to [-1, 1], then scale it to the bounds."""
    space = model.action_space
    assert isinstance(space, Box)
    low, high = (x.astype(np.float64).flatten() for x in (space.low, space.high))
    layers: list[Layer] = [{"type": "tanh"}]
    if isinstance(model, sac.Model):  # drop the standard deviation, keep the mean
        layers.insert(0, {"type": "first", "count": len(low)})
    return [*layers, affine(high / 2 - low / 2, high / 2 + low / 2)]


def _output(model: Any) -> dict[str, Any]:
    """The meaning of the last layer's outputs."""
    space = model.action_space
    kind = {"shape": list(spaces.shape_of(space)), "dtype": str(space.dtype)}
    if isinstance(space, Box):
        if not np.issubdtype(space.dtype, np.floating):
            raise NotExportableError(
                f"actions of {space} are rounded, which a JSON policy cannot: choose"
                " --format onnx"
            )
        return {"type": "clip", **kind, **bounds(space)}
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
    both: dict[str, Any] = {}
    for name in ("low", "high"):
        values = getattr(space, name).flatten()
        flat = [float(v) if np.isfinite(v) else None for v in values.tolist()]
        both[name] = flat[0] if flat and all(v == flat[0] for v in flat) else flat
    return both


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
        layers: list[Layer] = []
        for layer in module.layers:
            layers += [{"type": name}] if layers else []
            layers += layers_of(layer)
        return layers
    if isinstance(module, DuelingHead):
        shared = module.shared
        layers = [] if shared is None else [*layers_of(shared), {"type": "relu"}]
        actions, per_action = module.shape
        sizes = {"actions": actions, "per_action": per_action}
        names = "state_value", "advantage"
        streams = {name: layers_of(getattr(module, name)) for name in names}
        return [*layers, {"type": "dueling", **sizes, **streams}]
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
