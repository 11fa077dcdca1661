"""What `TorchVectorEnv` (always `envs`) is given, and whether it will do."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.spaces import Discrete, MultiBinary, MultiDiscrete
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import create_empty_array
from torch import Tensor

from yieldrl.envs.batched_support import last_axes, layout, tree_map


def action_tensor(envs: Any, action: Any) -> Tensor:
    """The actions as a tensor `[N, ...]` of the dtype that `dynamics` takes."""
    if not isinstance(action, Tensor):
        action = _from_array(envs, action)
    if (action.shape, action.dtype, action.device) != envs._action_kind:
        action = _converted(envs, action)
    if envs._looks_at_floats:
        _check_finite(envs, action)
    if envs._choices is not None:
        first, count = envs._choices
        given = action.numpy() if first is None else action.numpy() - first
        # As unsigned numbers, those below the first choice are beyond the last one.
        wrong = given.view(np.uint64) >= count
        if wrong.any():
            i = int(wrong.reshape(envs.num_envs, -1).any(1).argmax())
            raise ValueError(
                f"action {action[i].tolist()} of environment {i} is not in"
                f" {envs.single_action_space}: give one of its choices"
            )
    return action


def _check_finite(envs: Any, action: Tensor) -> None:
    finite = np.isfinite(action.detach().numpy())
    if not finite.all() and envs.autoreset_mode is AutoresetMode.NEXT_STEP:
        resets = envs._ended.numpy().reshape(-1, *[1] * (finite.ndim - 1))
        finite = finite | resets  # there the action is ignored
    if not finite.all():
        i = int((~finite).reshape(envs.num_envs, -1).any(1).argmax())
        raise ValueError(
            f"action {action[i].tolist()} of environment {i} is not finite: give"
            f" numbers of {envs.single_action_space} (is the policy's output finite?)"
        )


def marked(envs: Any, reward: Tensor, action: Tensor, before: Tensor) -> Tensor:
    """Rewards `[N]`, NaN where the action is not finite; this never waits.

    In NEXT_STEP mode actions are ignored where episodes ended `before`, bool `[N]`.
    """
    mark = (0 * action.detach()).reshape(envs.num_envs, -1).sum(1)
    if envs.autoreset_mode is AutoresetMode.NEXT_STEP:
        mark = mark.masked_fill(before, 0)
    return reward + mark.to(reward.dtype)


def choices(space: Any) -> tuple[Any, Any] | None:
    """The first choice (None for 0) and how many there are; None for other actions."""
    if isinstance(space, MultiBinary):
        return None, np.uint64(2)
    if not isinstance(space, Discrete | MultiDiscrete):
        return None
    first = np.asarray(space.start, np.int64)
    count = space.n if isinstance(space, Discrete) else space.nvec
    return first if first.any() else None, np.asarray(count).astype(np.uint64)


def _from_array(envs: Any, action: Any) -> Tensor:
    if not isinstance(action, np.ndarray | list | tuple):
        raise TypeError(
            f"actions must be a tensor, an array or a list, got {type(action)}"
        )
    try:
        return torch.tensor(np.asarray(action), device=envs.device)
    except (TypeError, ValueError) as reason:
        shape = envs.action_space.shape
        raise ValueError(f"actions must be of shape {shape}: {reason}") from None


def _converted(envs: Any, action: Tensor) -> Tensor:
    floats = envs.action_dtype.is_floating_point
    if (
        action.shape != envs.action_space.shape
        or action.is_floating_point() != floats
        or action.device != envs.device
    ):
        raise ValueError(
            f"actions must be {'floats' if floats else 'integers'} of shape"
            f" {envs.action_space.shape} on {envs.device}, got {action.dtype} of shape"
            f" {tuple(action.shape)} on {action.device}"
        )
    return action.to(envs.action_dtype)


def reset_options(envs: Any, options: Any) -> tuple[Tensor | None, dict[str, Tensor]]:
    """Which environments to reset, bool `[N]` or None for all, and parameters for it.

    The parameters, by the attribute's name, are those of `reset_parameters`.
    """
    options = dict(options or {})
    mask = _reset_mask(envs, options.pop("reset_mask", None))
    names = envs.reset_parameters
    unknown = sorted(options.keys() - names.keys())
    if unknown:
        known = ["reset_mask", *names]
        raise ValueError(f"options {unknown} are unknown: use {' or '.join(known)}")
    found = {names[key]: envs.parameter(key, value) for key, value in options.items()}
    if found.keys() & {"low", "high"}:
        bounds: dict[str, Any] = {"low": envs.low, "high": envs.high, **found}
        low, high = bounds["low"], bounds["high"]
        if (low > high).any():
            raise ValueError(
                f"low = {low.tolist()} is above high = {high.tolist()}: give both"
            )
    return mask, found


def _reset_mask(envs: Any, mask: Any) -> Tensor | None:
    if mask is None:
        return None
    if envs.state is None:
        raise ResetNeeded("reset_mask before the first reset: reset all of them first")
    mask = torch.as_tensor(mask, device=envs.device)
    if mask.dtype != torch.bool or mask.shape != (envs.num_envs,):
        raise ValueError(f"reset_mask is {layout(mask)}, not bool[{envs.num_envs}]")
    return mask


def check_running(envs: Any) -> None:
    """Raise if there is no state, or (ResetNeeded) an episode that is over."""
    if envs.state is None and envs.closed:
        raise ClosedEnvironmentError("a step after close(): make new environments")
    if envs.state is None:
        raise ResetNeeded("nothing to step yet: call reset() first")
    by_hand = envs.autoreset_mode is AutoresetMode.DISABLED
    if by_hand and envs.device.type == "cpu" and envs._ended.any():  # free to look at
        raise ResetNeeded(
            f"the episodes of {envs._ended.nonzero().flatten().tolist()} are over:"
            ' call reset(options={"reset_mask": terminated | truncated})'
        )


def check_arguments(envs: Any) -> None:
    """Raise if what the constructor was given, or the subclass names, is wrong."""
    name = type(envs).__name__
    for word in ("single_observation_space", "single_action_space", "noise_size"):
        if not hasattr(envs, word):
            raise TypeError(f"{name} has no {word}: set it in the class body")
    if envs.single_action_space.shape is None:
        space = envs.single_action_space
        raise TypeError(f"{name}.single_action_space = {space}: must be of one array")
    for word in ("num_envs", "max_episode_steps"):
        number = getattr(envs, word)
        if number is None and word == "max_episode_steps":
            continue
        if not isinstance(number, int | np.integer):
            raise TypeError(f"{word} = {number!r}: must be an int")
        if number < 1:
            raise ValueError(f"{word} = {number}: must be at least 1")
    if not (isinstance(envs.dtype, torch.dtype) and envs.dtype.is_floating_point):
        raise ValueError(f"dtype = {envs.dtype!r}: use torch.float32 or torch.float64")
    modes = [None, *envs.metadata["render_modes"]]
    if envs.render_mode not in modes:
        raise ValueError(f"render_mode = {envs.render_mode!r}: {name} has {modes}")


def check_functions(envs: Any, state: Any) -> None:
    """Run `dynamics` and `observe` once; raise ValueError if a result does not fit."""

    def expect(what: str, got: Any, wanted: Any) -> None:
        if got != wanted:
            name = type(envs).__name__
            raise ValueError(f"{name}.{what} must be {wanted}, got {got}")

    n = envs.num_envs
    expect("initial_state: the last axis", last_axes(state), {n})
    space = copy.deepcopy(envs.action_space)  # its random generator is the caller's
    space.seed(0)
    with torch.no_grad():
        action = action_tensor(envs, np.asarray(space.sample()))
        noise = torch.zeros(envs.noise_size, n, dtype=envs.dtype, device=envs.device)
        moved, reward, terminated = envs.random_dynamics(state, action, noise)
        obs = envs.observe(state)
    expect("dynamics: the next state", layout(moved), layout(state))
    expect("dynamics: the reward's shape", list(reward.shape), [n])
    expect("dynamics: terminated", layout(terminated), f"bool[{n}]")
    wanted_obs = create_empty_array(envs.single_observation_space, n)
    wanted_obs = layout(tree_map(torch.from_numpy, wanted_obs))
    expect("observe: the observations", layout(obs), wanted_obs)
