"""Inputs of batched worlds: arguments, options of resets, seeds and actions."""

import copy
import math
import secrets
from collections.abc import Collection, Mapping
from operator import index
from typing import Any

import numpy as np
import torch
from gymnasium.error import ResetNeeded
from gymnasium.vector.utils import create_empty_array
from torch import Tensor

from yieldrl.core import Utf8Text
from yieldrl.core.spaces import choice_ranges
from yieldrl.envs.arrays import clone, layout, leaves, tree_map


class NoiseSource:
    """Uniform numbers in [0, 1), `[size, N]`, one column per environment, of a
    `generator` whose seed is unpredictable until `seed` is called."""

    def __init__(
        self, size: int, num_envs: int, dtype: torch.dtype, device: torch.device
    ) -> None:
        self.size, self.num_envs = size, num_envs
        self.like: dict[str, Any] = {"dtype": dtype, "device": device}
        self.generator = torch.Generator(device)
        self.generator.seed()

    def draw(self, count: int | None = None) -> Tensor:
        """New numbers `[size, count or N]`."""
        shape = self.size, self.num_envs if count is None else count
        return torch.rand(shape, generator=self.generator, **self.like)

    def seed(self, seed: Any) -> Tensor:
        """Seed the generator with an int >= 0, or with N ints or None (unpredictable);
        or ValueError (TypeError for 1.5). Returns the noise `[size, N]` for first
        states."""
        several = np.ndim(seed) > 0
        given = list(seed) if several else [seed]
        seeds = [secrets.randbits(63) if s is None else index(s) for s in given]
        if min(seeds, default=-1) < 0 or (several and len(seeds) != self.num_envs):
            allowed = f"an int >= 0, or {self.num_envs} of them (or None)"
            raise ValueError(f"seed = {seed!r}: must be {allowed}")
        if not several:
            self.generator.manual_seed(seeds[0])
            return self.draw()
        (together,) = np.random.SeedSequence(seeds).generate_state(1, np.uint64)
        self.generator.manual_seed(int(together >> np.uint64(1)))
        generator = torch.Generator()  # on the CPU, so that devices do not differ
        dtype = self.like["dtype"]
        columns = [
            torch.rand(self.size, generator=generator.manual_seed(s), dtype=dtype)
            for s in seeds
        ]
        return torch.stack(columns, dim=-1).to(self.like["device"])


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

        Where `ignored`, bool `[N]`, is True, numbers need not be finite. ValueError if
        actions have a wrong shape, type or device, are not finite, or not in the space.
        """
        if not isinstance(actions, Tensor) or (
            (actions.shape, actions.dtype, actions.device) != self._wanted
        ):
            actions = self._converted(actions)
        if self.checks_finite:
            wrong = ~np.isfinite(actions.detach().numpy())
            if wrong.any() and ignored is not None:
                wrong &= ~ignored.numpy().reshape(-1, *[1] * (wrong.ndim - 1))
            wanted = f"finite: give numbers of {self.space} (is the policy's output?)"
        elif self._choices is not None:
            wrong = self._choices.outside(actions.numpy())
            wanted = f"in {self.space}: give one of its choices"
        else:
            return actions
        if wrong.any():
            i = int(wrong.reshape(self.num_envs, -1).any(1).argmax())
            given = actions[i].tolist()
            raise ValueError(f"action {given} of environment {i} is not {wanted}")
        return actions

    def mark(self, reward: Tensor, action: Tensor, ignored: Tensor | None) -> Tensor:
        """Rewards `[N]`, NaN where the action is not finite; never synchronizes."""
        mark = (0 * action.detach()).reshape(self.num_envs, -1).sum(1)
        if ignored is not None:
            mark = mark.masked_fill(ignored, 0)
        return reward + mark.to(reward.dtype)

    def _converted(self, actions: Any) -> Tensor:
        shape, dtype, device = self._wanted
        if not isinstance(actions, Tensor):
            try:
                array = np.asarray(actions)
                if isinstance(self.space, Utf8Text) and array.dtype.kind == "U":
                    array = self.space.encode(array.tolist())
                actions = torch.tensor(array, device=device)
            except (TypeError, ValueError) as reason:
                needed = f"actions must be of shape {shape}"
                raise ValueError(f"{needed}: {reason}") from None
        floats = dtype.is_floating_point
        given = actions.shape, actions.is_floating_point(), actions.device
        if given != (shape, floats, device):
            raise ValueError(
                f"actions must be {'floats' if floats else 'integers'} of shape {shape}"
                f" on {device}, got {actions.dtype} of shape {tuple(actions.shape)} on"
                f" {actions.device}"
            )
        return actions.to(dtype)


def check_range(
    name: str, value: float | None, low: float, high: float = math.inf
) -> None:
    """Raise ValueError unless an argument is from `low` to `high`, or None."""
    if value is not None and not low <= value <= high:
        wanted = f"from {low} to {high:,}" if math.isfinite(high) else f"at least {low}"
        raise ValueError(f"{name} = {value}: must be {wanted}")


def check_choice(name: str, value: Any, choices: Collection[Any]) -> None:
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

    def last_axes(state: Any) -> set[int]:
        return {x.shape[-1] if x.ndim else 0 for x in leaves(state)}

    n = envs.num_envs
    expect("initial_state: the last axis", last_axes(state), {n})
    state = clone(state)  # some worlds write into it in place
    space = copy.deepcopy(envs.action_space)  # its random generator is the caller's
    space.seed(0)
    with torch.no_grad():
        action = reader.read(np.asarray(space.sample()))
        noise = torch.zeros(envs.noise_size, n, dtype=envs.dtype, device=envs.device)
        if not envs.differs:
            what = "initial_state of one column of noise, where no parameter differs,"
            expect(what, last_axes(envs.initial_state(noise[:, :1])), {1})
        moved, reward, terminated = envs.random_dynamics(state, action, noise)
        obs = envs.observe(state)
    expect("dynamics: the next state", layout(moved), layout(state))
    expect("dynamics: the reward's shape", list(reward.shape), [n])
    expect("dynamics: terminated", layout(terminated), f"bool[{n}]")
    wanted_obs = create_empty_array(envs.single_observation_space, n)
    wanted_obs = layout(tree_map(torch.from_numpy, wanted_obs))
    expect("observe: the observations", layout(obs), wanted_obs)


def read_reset_mask(envs: Any, options: Mapping[str, Any] | None) -> Tensor | None:
    """The mask of environments to reset, bool `[N]`, or None for all.

    Raises:
        ResetNeeded: If a mask comes before the first reset.
        ValueError: If an option is unknown, or does not fit.
    """
    if unknown := sorted({*(options or {})} - {"reset_mask"}):
        raise ValueError(f"options {unknown} are unknown: there is reset_mask alone")
    mask = options.get("reset_mask") if options else None
    if mask is None:
        return None
    if envs.state is None:
        raise ResetNeeded("a reset_mask before the first reset: reset all of them")
    mask = torch.as_tensor(mask, device=envs.device)
    if mask.dtype != torch.bool or mask.shape != (envs.num_envs,):
        raise ValueError(f"reset_mask is {layout(mask)}, not bool[{envs.num_envs}]")
    return mask
