"""A policy as JSON: its inputs, its layers with their weights, and its output."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector.utils import batch_space

import yieldrl
from yieldrl.abstractions import Agent
from yieldrl.exports.families import parts_of
from yieldrl.exports.json_policy import FORMAT, VERSION, JsonPolicy
from yieldrl.exports.layers import NotExportableError, of_space
from yieldrl.loggers.files import write_atomically

TRIED = 64  # random observations on which JSON and agent are compared


def write_json(agent: Agent, path: str | Path, **notes: Any) -> Path:
    """Write what `describe` returns to a file, atomically; the same errors."""
    return save(describe(agent, **notes), path)


def save(policy: dict[str, Any], path: str | Path) -> Path:
    """Write what `describe` returned to a file, atomically."""
    text = json.dumps(policy, separators=(",", ":"), allow_nan=False)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text + "\n")
    return path


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
    expected, found = agent.predict(obs), policy.predict(obs)
    same = np.isclose(found, expected, rtol=1e-4, atol=1e-4)
    if not isinstance(agent.model.action_space, Box):
        same |= policy.undecided(obs, 1e-5).reshape(-1, *[1] * (same.ndim - 1))
    if not same.all():
        raise NotExportableError(
            f"{type(agent.model).__name__} computes something else than its layers say:"
            " choose --format onnx, which follows what it really does"
        )
