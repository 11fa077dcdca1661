"""The simulators there are, by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from yieldrl.envs.physics.backend import Backend


def make_backend(
    name: str | None,
    model: Any,
    num_envs: int,
    fields: Sequence[str],
    threads: int | None,
    device: str | torch.device,
) -> Backend:
    """The backend of this name, or the one that suits the device."""
    on_cpu = torch.device(device).type == "cpu"
    name = name or ("mujoco" if on_cpu else "warp")
    if name == "warp":
        from yieldrl.envs.physics.warp import WarpBackend

        return WarpBackend(model, num_envs, fields, device)
    if name != "mujoco" or not on_cpu:
        raise ValueError(
            f"backend = {name!r} on {device}: use 'mujoco' on the CPU, or 'warp'"
        )
    from yieldrl.envs.physics.batch import BatchBackend

    return BatchBackend(model, num_envs, fields, threads)
