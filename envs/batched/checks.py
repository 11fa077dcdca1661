"""Checks of a world's arguments, functions and actions."""

import copy
from collections.abc import Collection
from typing import Any, NoReturn

import numpy as np
import torch
from gymnasium.error import ResetNeeded
from gymnasium.vector.utils import create_empty_array
from torch import Tensor

from yieldrl.envs.batched.tree import clone, last_axes, layout, tree_map
from yieldrl.foundations import Utf8Text
from yieldrl.foundations.spaces import choice_ranges


def check_arguments(envs: Any) -> None:
    """Raise if an argument of the constructor or a class attribute is wrong."""
    name = type(envs).__name__
    for word in ("single_observation_space", "single_action_space", "noise_size"):
        if not hasattr(envs, word):
            raise TypeError(f"{name} has no {word}: set it in the class body")
    if envs.single_action_space.shape is None:
        space = envs.single_action_space
        raise TypeError(f"{name}.single_action_space = {space}: must be of one array")
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


def check_functions(envs: Any, reader: "ActionReader", state: Any) -> None:
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
    found = {names[key]: envs.parameter(key, value) for key, value in options.items()}
    if found.keys() & {"low", "high"}:
        low, high = found.get("low", envs.low), found.get("high", envs.high)
        if (low > high).any():
            raise ValueError(
                f"low = {low.tolist()} is above high = {high.tolist()}: give both"
            )
    return mask, found


class ActionReader:
    """Converts the actions of N environments to int64, or floats of `dtype`, and checks
    them.

    On a CPU, where reading values does not synchronize, `read` rejects numbers that are
    not finite; elsewhere `mark` makes their rewards NaN. Discrete actions are not
    checked if steps are compiled, because it would cost a tenth of the step.
    """

    def __init__(self, envs: Any) -> None:
        self.space, self.num_envs = envs.single_action_space, envs.num_envs
        floats = np.issubdtype(envs.action_space.dtype, np.floating)
        on_cpu = envs.device.type == "cpu"
        self.dtype = envs.dtype if floats else torch.int64
        self.checks_finite = floats and on_cpu
        self.marks_rewards = floats and not on_cpu
        self._wanted = envs.action_space.shape, self.dtype, envs.device
        ranges = choice_ranges(self.space) if on_cpu and not envs.compiles else []
        self._choices = ranges[0] if ranges else None

    def read(self, actions: Any, ignored: Tensor | None = None) -> Tensor:
        """The actions, a tensor, array or list (texts may be strings), as a tensor
        `[N, ...]`.

        Where `ignored`, bool `[N]`, is True, any value is accepted. TypeError or
        ValueError if actions have a wrong type, are not finite, or not in the space.
        """
        if not isinstance(actions, Tensor):
            actions = self._from_array(actions)
        if (actions.shape, actions.dtype, actions.device) != self._wanted:
            actions = self._converted(actions)
        if self.checks_finite:
            finite = np.isfinite(actions.detach().numpy())
            if not finite.all():
                self._check_rest(actions, finite, ignored)
        if self._choices is not None:
            wrong = self._choices.outside(actions.numpy())
            if wrong.any():
                why = f"in {self.space}: give one of its choices"
                self._refuse(actions, wrong, why)
        return actions

    def mark(self, reward: Tensor, action: Tensor, ignored: Tensor | None) -> Tensor:
        """Rewards `[N]`, NaN where the action is not finite; never synchronizes."""
        mark = (0 * action.detach()).reshape(self.num_envs, -1).sum(1)
        if ignored is not None:
            mark = mark.masked_fill(ignored, 0)
        return reward + mark.to(reward.dtype)

    def _check_rest(
        self, action: Tensor, finite: np.ndarray, ignored: Tensor | None
    ) -> None:
        """Raise ValueError for actions that are not finite, unless they are ignored."""
        if ignored is not None:
            finite = finite | ignored.numpy().reshape(-1, *[1] * (finite.ndim - 1))
        if not finite.all():
            remedy = f"give numbers of {self.space} (is the policy's output finite?)"
            self._refuse(action, ~finite, f"finite: {remedy}")

    def _refuse(self, action: Tensor, wrong: np.ndarray, why: str) -> NoReturn:
        """Raise for the first environment with a wrong action."""
        i = int(wrong.reshape(self.num_envs, -1).any(1).argmax())
        given = action[i].tolist()
        raise ValueError(f"action {given} of environment {i} is not {why}")

    def _from_array(self, action: Any) -> Tensor:
        if not isinstance(action, np.ndarray | list | tuple):
            raise TypeError(
                f"actions must be a tensor, an array or a list, got {type(action)}"
            )
        shape, _, device = self._wanted
        try:
            array = np.asarray(action)
            if isinstance(self.space, Utf8Text) and array.dtype.kind == "U":
                array = self.space.encode(array.tolist())
            return torch.tensor(array, device=device)
        except (TypeError, ValueError) as reason:
            raise ValueError(f"actions must be of shape {shape}: {reason}") from None

    def _converted(self, action: Tensor) -> Tensor:
        shape, dtype, device = self._wanted
        floats = dtype.is_floating_point
        got = action.shape, action.is_floating_point(), action.device
        if got != (shape, floats, device):
            raise ValueError(
                f"actions must be {'floats' if floats else 'integers'} of shape {shape}"
                f" on {device}, got {action.dtype} of shape {tuple(action.shape)} on"
                f" {action.device}"
            )
        return action.to(dtype)
