"""A step of a `TorchVectorEnv` (always `envs`) as part of a larger function of tensors.

Acting, stepping and writing down can then be compiled as one. The numbers are those of
`step`: random ones too, which are drawn here as they are drawn there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from gymnasium.vector import AutoresetMode
from torch import Tensor

from yieldrl.envs import batched_checks as checks
from yieldrl.envs import batched_noise
from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.batched_support import in_compiled_form, in_fours

__all__ = ["accept", "fits", "in_compiled_form", "inputs", "packed", "step", "unpacked"]


def fits(envs: Any) -> bool:
    """Whether there are such functions: of a world whose step nobody has changed."""
    return (
        isinstance(envs, TorchVectorEnv)
        and type(envs).step is TorchVectorEnv.step
        and envs.autoreset_mode is AutoresetMode.SAME_STEP
        and envs._step == envs.pure_step
    )


def inputs(envs: TorchVectorEnv) -> dict[str, Any]:
    """What the next step goes by, besides the actions."""
    checks.check_running(envs)
    own = {"state": envs.state, "elapsed": envs.elapsed, "ended": envs._ended}
    return own if envs._noise is None else {**own, "noise": envs._noise}


def packed(envs: TorchVectorEnv, obs: Any) -> Any:
    """Observations `[N, ...]` as `step` answers them, in the same memory."""
    return in_fours(obs) if envs.packs_bools else obs


def unpacked(envs: TorchVectorEnv, obs: Any) -> Any:
    """What `packed` was given."""
    if not envs.packs_bools:
        return obs
    return obs.view(torch.bool).view(envs.observation_space.shape)


def step(envs: TorchVectorEnv, given: Mapping[str, Any], action: Tensor) -> Any:
    """From `inputs` and actions `[N, ...]` to what the step answers, as tensors.

    Returns:
        By name `state`, `elapsed`, `ended`, `next_obs` (before any reset), `reward`,
        `terminated` and `truncated`. Where a step has noise for everybody the resets
        are done, and `obs` are the observations after them. Observations are `packed`.
        Where it is not compiled, it must run `in_compiled_form`.
    """
    action = action.to(envs.action_dtype, copy=True)  # which dynamics may write into
    if "noise" in given:
        names = ("state", "elapsed", "ended", "obs", "reward", "terminated")
        state, elapsed, ended = (given[name] for name in names[:3])
        found = envs.pure_step(state, elapsed, ended, action, given["noise"])
        return dict(zip((*names, "truncated", "next_obs"), found, strict=True))
    state, reward, terminated = envs.dynamics(envs.unfold(given["state"]), action)
    elapsed = given["elapsed"] + 1
    truncated = elapsed >= envs._limit
    return {
        "state": envs.fold(state),
        "elapsed": elapsed,
        "ended": terminated | truncated,
        "next_obs": envs.observe(state),
        "reward": reward.to(torch.float32),
        "terminated": terminated,
        "truncated": truncated,
    }


def accept(envs: TorchVectorEnv, found: Mapping[str, Any]) -> tuple[Any, Any]:
    """Go on from what `step` answered.

    Returns:
        The observations `[N, ...]` to act on next, and those before any reset.
    """
    before = envs._ended
    envs.state, envs.elapsed, envs._ended = (
        found[name] for name in ("state", "elapsed", "ended")
    )
    last = unpacked(envs, found["next_obs"])
    known = "obs" in found
    obs = unpacked(envs, found["obs"]) if known else _restarted(envs, last)
    envs._noise = batched_noise.renewed(envs, before)
    return obs, last


def _restarted(envs: TorchVectorEnv, final_obs: Any) -> Any:
    """Begin episodes where they ended; the observations after it."""
    ended, last = envs._ended, envs.unfold(envs.state)
    state = envs.restart(ended, last, None)
    if state is last:
        return final_obs
    envs.elapsed = envs.elapsed.masked_fill(ended, 0)
    envs.state = envs.fold(state)
    return envs.observe_restarted(ended, state, final_obs)
