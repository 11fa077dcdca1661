"""The parts of each algorithm's model that make its deterministic policy."""

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete

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
from yieldrl.exports.layers import (
    Layer,
    NotExportableError,
    affine,
    bounds,
    inputs_of,
    layers_of,
    packed,
)
from yieldrl.foundations import spaces


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
