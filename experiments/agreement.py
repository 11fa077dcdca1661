"""Equal starts of processes that train together, with different random numbers."""

import dataclasses
import platform
import zlib
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import tensordict
import torch
from torch import Tensor

import yieldrl
from yieldrl.foundations import CheckpointError, Config, ranks, seed_everything

OWN = ("device", "run_name", "run_root", "speed", "threads", "vectorization")
"""Fields of a config that may differ between processes: where and how fast one works,
and the folder, which only the first one writes into."""


def join(run: Any) -> None:
    """Start with the first process's weights, if a trainer is not alone.

    Raises:
        ValueError: If it cannot learn together with others, or if, in every process, a
            field of the config, a class, a space, a weight's shape or a version is not
            that of the first.
    """
    if ranks().count == 1:
        return
    collection = getattr(run.config, "collection", "sync")
    if not run.parallel or collection != "sync":
        said = f"{collection=}" if collection != "sync" else run.name
        raise ValueError(
            f"{said} cannot be trained by {ranks().count} processes together, which"
            " must take as many steps between updates: start one, without torchrun,"
            " or take an algorithm of rollouts, such as ppo, with collection='sync'"
        )
    ranks().agree(_facts(run))
    ranks().broadcast_module(run.model)
    seed_rank(run)


def seed_rank(run: Any) -> None:
    """Give this process random numbers of its own, unless it is the first."""
    if not ranks().first:
        seed, step = run.config.seed, run.agent.sample_step
        seed_everything(ranks().derive_seed(seed, f"global, from step {step}"))
        own = ranks().derive_seed(seed, f"exploration, from step {step}")
        run.agent.generator.manual_seed(own)


def agree_on_state(state: Mapping[str, Any]) -> None:
    """Refuse processes that loaded different checkpoints.

    CheckpointError in every process, if steps, weights or optimizer are not those of
    the first.
    """
    if ranks().count == 1:
        return
    agent = state["agent"]
    steps = {name: value for name, value in agent.items() if isinstance(value, int)}
    found = {"checksum of the checkpoint's weights": _fingerprint(agent["algorithm"])}
    try:
        ranks().agree({**steps, **found})
    except ValueError as reason:
        raise CheckpointError(str(reason)) from None


def _facts(run: Any) -> dict[str, Any]:
    parts = {"trainer": run, "agent": run.agent, "algorithm": run.algorithm}
    parts["model"] = run.model
    found: dict[str, Any] = {
        f"class of the {name}": f"{type(part).__module__}.{type(part).__qualname__}"
        for name, part in parts.items()
    }
    found |= _fields("Config", run.config)
    for name in ("agent", "algorithm"):  # passed parts have their own config
        found |= _fields(f"{name}.config", getattr(parts[name], "config", None))
    found["learning_rate"] = float(getattr(run.algorithm, "learning_rate", 0.0))
    found["observation space"] = str(run.envs.single_observation_space)
    found["action space"] = str(run.envs.single_action_space)
    found["kind of device"] = run.agent.device.type
    for name, x in [*run.model.named_parameters(), *run.model.named_buffers()]:
        kind = "learned" if x.requires_grad else "frozen"
        found[f"model.{name}"] = f"{tuple(x.shape)}, {x.dtype}, {kind}"
    for module in (yieldrl, torch, tensordict, gymnasium, np):
        found[f"version of {module.__name__}"] = str(module.__version__)
    return found | {"version of Python": platform.python_version()}


def _fields(owner: str, config: Any) -> dict[str, Any]:
    if not isinstance(config, Config):
        return {}
    found = [entry.name for entry in dataclasses.fields(config)]
    return {f"{owner}.{x}": getattr(config, x) for x in found if x not in OWN}


def _fingerprint(state: Any) -> int:
    """A checksum of nested mappings and lists of tensors and plain values."""
    if isinstance(state, Tensor):
        flat = state.detach().cpu().contiguous().reshape(-1)
        return zlib.crc32(flat.view(torch.uint8).numpy().tobytes())
    if isinstance(state, Mapping):
        lines = [f"{key!r}: {_fingerprint(value)}" for key, value in state.items()]
    elif isinstance(state, list | tuple):
        lines = [f"{_fingerprint(value)}" for value in state]
    else:
        lines = [repr(state)]
    return zlib.crc32("\n".join(lines).encode())
