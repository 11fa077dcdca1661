"""Check that processes that train together start alike."""

from __future__ import annotations

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
from yieldrl.foundations import CheckpointError, Config, ranks

OWN = ("device", "run_name", "run_root", "speed", "threads", "vectorization")
"""Fields of a config that each process may have its own of: where and how fast it
works, and the folder, which the first one alone writes into."""


def agree_on_start(run: Any) -> None:
    """Refuse processes that would train differently, by what they differ in.

    Raises:
        ValueError: In every process, if a field of the config, a class, a space, a
            weight's shape or a version is not that of the first process.
    """
    if ranks().count > 1:
        ranks().agree(facts(run))


def agree_on_state(state: Mapping[str, Any]) -> None:
    """Refuse processes that loaded different checkpoints.

    Raises:
        CheckpointError: In every process, if steps, weights or optimizer are not those
            of the first.
    """
    if ranks().count == 1:
        return
    agent = state["agent"]
    steps = {name: value for name, value in agent.items() if isinstance(value, int)}
    found = {"checksum of the checkpoint's weights": fingerprint(agent["algorithm"])}
    try:
        ranks().agree({**steps, **found})
    except ValueError as reason:
        raise CheckpointError(str(reason)) from None


def facts(run: Any) -> dict[str, Any]:
    """The parts of a trainer, by the names that an error gives them."""
    parts = {"trainer": run, "agent": run.agent, "algorithm": run.algorithm}
    parts["model"] = run.model
    found: dict[str, Any] = {f"class of the {k}": _name(v) for k, v in parts.items()}
    found |= _fields("Config", run.config)
    for name in ("agent", "algorithm"):  # one that was passed has a config of its own
        found |= _fields(f"{name}.config", getattr(parts[name], "config", None))
    found["learning_rate"] = float(getattr(run.algorithm, "learning_rate", 0.0))
    found["observation space"] = str(run.envs.single_observation_space)
    found["action space"] = str(run.envs.single_action_space)
    found["kind of device"] = run.agent.device.type
    for name, x in [*run.model.named_parameters(), *run.model.named_buffers()]:
        kind = "learned" if x.requires_grad else "frozen"
        found[f"model.{name}"] = f"{tuple(x.shape)}, {x.dtype}, {kind}"
    return found | {f"version of {name}": v for name, v in _versions().items()}


def _fields(owner: str, config: Any) -> dict[str, Any]:
    if not isinstance(config, Config):
        return {}
    found = [entry.name for entry in dataclasses.fields(config)]
    return {f"{owner}.{x}": getattr(config, x) for x in found if x not in OWN}


def fingerprint(state: Any) -> int:
    """A checksum of nested mappings and lists of tensors and plain values."""
    checksum = 0
    if isinstance(state, Mapping):
        for key, value in state.items():
            line = f"{key!r}: {fingerprint(value)}"
            checksum = zlib.crc32(line.encode(), checksum)
    elif isinstance(state, list | tuple):
        for value in state:
            checksum = zlib.crc32(f"{fingerprint(value)}".encode(), checksum)
    elif isinstance(state, Tensor):
        flat = state.detach().cpu().contiguous().reshape(-1)
        checksum = zlib.crc32(flat.view(torch.uint8).numpy().tobytes())
    else:
        checksum = zlib.crc32(repr(state).encode())
    return checksum


def _name(part: Any) -> str:
    return f"{type(part).__module__}.{type(part).__qualname__}"


def _versions() -> dict[str, str]:
    return {
        "yieldrl": yieldrl.__version__,
        "torch": str(torch.__version__),
        "tensordict": str(tensordict.__version__),
        "gymnasium": gymnasium.__version__,
        "numpy": np.__version__,
        "Python": platform.python_version(),
    }
