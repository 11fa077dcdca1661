"""A step of a batched world as part of a larger function of tensors, so that acting,
stepping and storing are compiled together."""

from collections.abc import Mapping
from typing import Any

import torch
from gymnasium.vector import AutoresetMode
from torch import Tensor

from yieldrl.envs.batched.tree import in_compiled_form, pack_bools
from yieldrl.envs.batched.vector_env import TorchVectorEnv

__all__ = ["accept", "fits", "in_compiled_form", "inputs", "packed", "step", "unpacked"]


def fits(envs: Any) -> bool:
    """Whether `step` below equals `envs.step`: False if a subclass overrides it."""
    return (
        isinstance(envs, TorchVectorEnv)
        and type(envs).step is TorchVectorEnv.step
        and envs.autoreset_mode is AutoresetMode.SAME_STEP
        and not envs.compiles
    )


def inputs(envs: TorchVectorEnv) -> dict[str, Any]:
    """The tensors that the next step reads, besides the actions."""
    envs.check_running()
    own = {"state": envs.state, "elapsed": envs.elapsed, "ended": envs._ended}
    noise = envs._noise.pending
    return own if noise is None else {**own, "noise": noise}


def packed(envs: TorchVectorEnv, obs: Any) -> Any:
    """Observations `[N, ...]` in the format of `step`, in the same memory."""
    return pack_bools(obs) if envs.packs_bools else obs


def unpacked(envs: TorchVectorEnv, obs: Any) -> Any:
    """The inverse of `packed`."""
    if not envs.packs_bools:
        return obs
    return obs.view(torch.bool).view(envs.observation_space.shape)


def step(envs: TorchVectorEnv, given: Mapping[str, Any], action: Tensor) -> Any:
    """Compute a step from `inputs` and actions `[N, ...]`; returns tensors.

    If it is not compiled, call it inside `in_compiled_form`.

    Returns:
        By name `state`, `elapsed`, `ended`, `next_obs` (before any reset, `packed`),
        `reward`, `terminated` and `truncated`. If steps have noise for all
        environments, resets are included, and `obs` has the observations after them.
    """
    action = action.to(envs.action_dtype, copy=True)  # `dynamics` may overwrite it
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
    """Store results of `step` in `envs`; returns observations `[N, ...]` for the next
    action, and those before any reset."""
    before, ended, envs._ended = envs._ended, found["ended"], found["ended"]
    envs.state, envs.elapsed = found["state"], found["elapsed"]
    obs = last_obs = unpacked(envs, found["next_obs"])
    if "obs" in found:
        obs = unpacked(envs, found["obs"])
    else:
        last = envs.unfold(envs.state)
        state = envs.restart(ended, last, None)
        if state is not last:
            envs.elapsed = envs.elapsed.masked_fill(ended, 0)
            envs.state = envs.fold(state)
            obs = envs.observe_restarted(ended, state, last_obs)
    envs.renew_noise(before)
    return obs, last_obs
