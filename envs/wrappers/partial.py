"""Which vector environments can reset some of their environments alone."""

from __future__ import annotations

from typing import Any

from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from yieldrl.envs.batched import TorchVectorEnv


def check_resets_in_part(envs: VectorEnv[Any, Any, Any], remedy: str) -> None:
    """Look whether `reset(options={"reset_mask": mask})` is known to work.

    It is for Gymnasium's `SyncVectorEnv` and `AsyncVectorEnv`, for a `TorchVectorEnv`,
    and for all in DISABLED mode.

    Args:
        envs: The environments, in wrappers or not.
        remedy: What to do if not, for the message.

    Raises:
        TypeError: If it is not.
    """
    mode = envs.metadata["autoreset_mode"]
    known = SyncVectorEnv | AsyncVectorEnv | TorchVectorEnv
    if mode is AutoresetMode.DISABLED or isinstance(envs.unwrapped, known):
        return
    raise TypeError(
        f"{envs} is not known to reset some environments alone, with"
        f' reset(options={{"reset_mask": mask}}), in {mode.value} mode: {remedy}'
    )
