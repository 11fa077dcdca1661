"""Checks of a world's arguments and functions, once, when it is made and reset."""

import copy
from collections.abc import Collection
from typing import Any

import numpy as np
import torch
from gymnasium.error import ResetNeeded
from gymnasium.vector.utils import create_empty_array
from torch import Tensor

from yieldrl.envs.batched.actions import ActionReader
from yieldrl.envs.batched.tree import clone, last_axes, layout, tree_map


def check_arguments(envs: Any) -> None:
    """Raise if an argument of the constructor or a class attribute is wrong."""
    name = type(envs).__name__
    for word in ("single_observation_space", "single_action_space", "noise_size"):
        if not hasattr(envs, word):
            raise TypeError(f"{name} has no {word}: set it in the class body")
    check_counts(num_envs=envs.num_envs)
    if envs.max_episode_steps is not None:
        check_counts(max_episode_steps=envs.max_episode_steps)
    if not (isinstance(envs.dtype, torch.dtype) and envs.dtype.is_floating_point):
        raise ValueError(f"dtype = {envs.dtype!r}: use torch.float32 or torch.float64")
    modes = [None, *envs.metadata["render_modes"]]
    if envs.render_mode not in modes:
        raise ValueError(f"render_mode = {envs.render_mode!r}: {name} has {modes}")


def check_counts(**counts: Any) -> None:
    """Raise unless these arguments are ints of at least 1."""
    for name, number in counts.items():
        if not isinstance(number, int | np.integer):
            raise TypeError(f"{name} = {number!r}: must be an int")
        if number < 1:
            raise ValueError(f"{name} = {number}: must be at least 1")


def check_choice(name: str, value: str, choices: Collection[str]) -> None:
    """Raise ValueError if an argument is not one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} = {value!r}: choose one of {tuple(choices)}")


def check_functions(envs: Any, reader: ActionReader, state: Any) -> None:
    """Run `dynamics` and `observe` once on a copy of the state; ValueError if a result
    does not fit."""

    def expect(what: str, got: Any, wanted: Any) -> None:
        if got != wanted:
            name = type(envs).__name__
            raise ValueError(f"{name}.{what} must be {wanted}, got {got}")

    n = envs.num_envs
    expect("initial_state: the last axis", last_axes(state), {n})
    state = clone(state)  # some worlds write into it in place
    space = copy.deepcopy(envs.action_space)  # its random generator is the caller's
    space.seed(0)
    with torch.no_grad():
        action = reader.read(np.asarray(space.sample()))
        noise = torch.zeros(envs.noise_size, n, dtype=envs.dtype, device=envs.device)
        moved, reward, terminated = envs.random_dynamics(state, action, noise)
        obs = envs.observe(state)
    expect("dynamics: the next state", layout(moved), layout(state))
    expect("dynamics: the reward's shape", list(reward.shape), [n])
    expect("dynamics: terminated", layout(terminated), f"bool[{n}]")
    wanted_obs = create_empty_array(envs.single_observation_space, n)
    wanted_obs = layout(tree_map(torch.from_numpy, wanted_obs))
    expect("observe: the observations", layout(obs), wanted_obs)


def reset_options(envs: Any, options: Any) -> tuple[Tensor | None, dict[str, Tensor]]:
    """The mask of environments to reset, bool `[N]` or None for all, and parameters for
    this reset, by attribute name.

    Raises:
        ResetNeeded: If a mask comes before the first reset.
        ValueError: If an option is unknown, or does not fit.
    """
    options = dict(options or {})
    mask = options.pop("reset_mask", None)
    if mask is not None:
        if envs.state is None:
            raise ResetNeeded("a reset_mask before the first reset: reset all of them")
        mask = torch.as_tensor(mask, device=envs.device)
        if mask.dtype != torch.bool or mask.shape != (envs.num_envs,):
            raise ValueError(f"reset_mask is {layout(mask)}, not bool[{envs.num_envs}]")
    names = envs.reset_parameters
    unknown = sorted(options.keys() - names.keys())
    if unknown:
        known = ["reset_mask", *names]
        raise ValueError(f"options {unknown} are unknown: use {' or '.join(known)}")
    parameters = {names[key]: envs.parameter(key, options[key]) for key in options}
    if parameters.keys() & {"low", "high"}:
        low, high = parameters.get("low", envs.low), parameters.get("high", envs.high)
        if (low > high).any():
            raise ValueError(
                f"low = {low.tolist()} is above high = {high.tolist()}: give both"
            )
    return mask, parameters
