"""Steps vector environments of any autoreset mode, and checks what they return."""

from contextlib import suppress
from copy import deepcopy
from functools import reduce
from operator import getitem
from typing import Any

import numpy as np
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from torch import Tensor

from yieldrl.core import spaces
from yieldrl.core.conversion import as_array, copied_array
from yieldrl.envs.arrays import copied, in_dtype, leaves, replaced
from yieldrl.envs.autoreset import Step, StepReader
from yieldrl.envs.serial import SerialVectorEnv

__all__ = ["Step", "Stepper"]


class Stepper:
    """Steps a vector environment and finds the true next observation.

    In DISABLED mode it resets the environments whose episodes ended. The observations
    that it returns are never overwritten; rewards and flags are valid until the next
    step. Environments get copies of actions, because some write into them.
    """

    def __init__(self, envs: VectorEnv[Any, Any, Any]) -> None:
        if not isinstance(envs, VectorEnv):
            raise TypeError(
                f"envs is {envs!r}: give it a vector environment, such as trainer.envs,"
                " or yieldrl.envs.SerialVectorEnv([make_env] * 4) of single ones"
            )
        self.envs = envs
        self.reader = StepReader(envs)
        self.mode = self.reader.mode
        self.resets: Any = None  # NEXT_STEP: which the next step resets, bool `[N]`
        self.steps = 0  # since the latest `reset`
        self._resets_here = self.mode is AutoresetMode.DISABLED
        self._choices: list[spaces.ChoiceRange] = []  # to check, where it is cheap
        # SerialVectorEnv copies actions and checks observations itself.
        self._careful = isinstance(envs, SerialVectorEnv) and self.reader.new_memory
        there = [] if self._careful else spaces.leaves(envs.single_observation_space)
        self._entries = [(path, leaf, np.dtype(leaf.dtype)) for path, leaf in there]
        self._checks = False

    def reset(self, seed: Any) -> Any:
        """Begin new episodes, by a seed or one of each; the first observations
        `[N, ...]`, or ValueError if these do not fit their space."""
        self.resets, self.steps = None, 0
        space = self.envs.single_observation_space
        obs, _ = self.envs.reset(seed=seed)
        try:
            spaces.is_batched(space, obs)
        except (KeyError, TypeError, ValueError) as reason:
            raise ValueError(
                f"reset() of {self.envs} gave no observations of {space}: {reason}."
                " Make the environment's observations and its observation_space agree"
            ) from reason
        # Tensors are not checked, because that would wait for their device.
        tensors = spaces.holds_tensors(obs)
        check_values(self.envs, self._entries, obs, 0)
        self._checks = not tensors
        self._choices = [] if tensors else spaces.choice_ranges(space)
        self._check_choices(obs)
        if self._checks and not are_finite(obs):
            check_answer(obs, "reset()")
        if tensors and _may_write_again(self.envs, obs):
            self.reader.new_memory = False
        return obs if self.reader.new_memory else copied(obs)

    def step(self, action: Any) -> Step:
        """Take one step in every environment.

        FloatingPointError if it failed because of the action; ValueError if a value is
        not finite, an observation is outside of its space of choices, or an episode's
        last is missing.
        """
        try:
            plain = self._careful and type(action) is np.ndarray
            given = action if plain else self._copied(action)
            obs, reward, terminated, truncated, info = self.envs.step(given)
        except Exception as reason:
            check_action(action, reason)
            # Gymnasium's own batches do not say in which of them and when it was.
            reason.add_note(f"(in step {self.steps + 1} of {self.envs})")
            raise
        self.steps += 1
        if self.steps == 1:
            check_rewards(self.envs, reward, terminated, truncated)
        if self._checks and self._entries:
            check_values(self.envs, self._entries, obs, self.steps)
        if not self.reader.new_memory:
            obs = copied(obs)
        answer = obs, reward, terminated, truncated, info
        step = self.reader.read(answer, resets=self.resets, action=action)
        if step.valid is not None:
            self.resets = step.ended
        elif self._resets_here:
            step = self._reset_ended(step)
        if self._checks and not are_finite(step.reward, step.next_obs, step.obs):
            when = f"step {self.steps} since the latest reset of all"
            check_answer(step.next_obs, when, reward=step.reward, action=step.action)
            check_answer(step.obs, f"the reset that follows {when}")
        if self._choices:
            self._check_choices(step.next_obs)
            if step.obs is not step.next_obs:
                self._check_choices(step.obs)
        return step

    def _copied(self, action: Any) -> Any:
        """A copy of actions, because some environments write into them; where these
        give arrays an array, of a GPU's tensor too."""
        if self._checks and isinstance(action, Tensor):
            return copied_array(action)
        return copied(action) if hasattr(action, "dtype") else deepcopy(action)

    def _reset_ended(self, step: Step) -> Step:
        ended = step.ended
        if not ended.any():
            return step
        if not self.reader.new_memory:  # the reset may write into the same
            step = Step(*map(copied, step))
        fresh, _ = self.envs.reset(options={"reset_mask": ended})
        return step._replace(obs=replaced(step.obs, fresh, ended))

    def _check_choices(self, obs: Any) -> None:
        """Raise if an array holds a choice outside of its space."""
        for choice in self._choices:
            leaf = reduce(getitem, choice.path, obs)
            outside = choice.outside(leaf)
            if np.count_nonzero(outside):
                env = int(np.argwhere(outside)[0][0])
                name = "".join(f"[{key!r}]" for key in choice.path)
                raise ValueError(
                    f"environment {env} of {self.envs} returned observation{name}"
                    f" {leaf[env]} at step {self.steps}, which is not in its space"
                    f" {choice.space}: make the two agree"
                )


def _may_write_again(envs: Any, obs: Any) -> bool:
    """Whether a custom environment returns its state's memory as observations."""
    own = type(envs).__module__.startswith("yieldrl.")
    if own or not hasattr(envs, "dynamics"):  # not of tensors
        return False
    seen, state = (
        {tensor.untyped_storage().data_ptr() for tensor in leaves(tree)}
        for tree in (obs, envs.state)
    )
    return bool(seen & state)


MAX_SQUARE = float(np.finfo(np.float32).max) ** 2  # of what float32 holds


def check_values(envs: Any, leaves: list[Any], obs: Any, step: int) -> None:
    """ValueError if observations hold what the dtypes of their leaves cannot hold."""
    for path, space, dtype in leaves:
        leaf = reduce(getitem, path, obs)
        if _holds(leaf, dtype):
            continue
        array = as_array(leaf)
        with suppress(ValueError):
            in_dtype(array, dtype)
            continue
        for i, row in enumerate(array):
            try:
                in_dtype(row, dtype)
            except ValueError as reason:
                name = "".join(f"[{key!r}]" for key in path)
                raise ValueError(
                    f"environment {i} of {envs} returned observation{name} with"
                    f" {reason}, at step {step}; its space is {space}: make the two"
                    " agree"
                ) from None


def check_rewards(envs: VectorEnv[Any, Any, Any], reward: Any, *flags: Any) -> None:
    """Raise ValueError unless rewards are real numbers `[N]`, and flags booleans."""
    names = ("reward", "terminated", "truncated")
    for name, value in zip(names, (reward, *flags), strict=True):
        kind = as_array(value).dtype.kind
        # Flags of 0 and 1 would be the indices of two environments.
        kinds, wanted = ("biuf", "real number") if name == "reward" else ("b", "bool")
        if np.shape(value) != (envs.num_envs,) or kind not in kinds:
            raise ValueError(
                f"{envs} returned {name} of shape {tuple(np.shape(value))} and dtype"
                f" {getattr(value, 'dtype', type(value).__name__)}: must be a {wanted}"
                f" for each of its {envs.num_envs} environments"
            )


def _holds(leaf: Any, dtype: np.dtype[Any]) -> bool:
    """Whether every array, or tensor, of this kind has values that `dtype` can hold."""
    if not isinstance(leaf, Tensor):
        return getattr(leaf, "dtype", None) == dtype
    if dtype.kind == "f":
        return not leaf.is_complex()
    return leaf.dtype == torch.from_numpy(np.empty(0, dtype)).dtype


def check_action(action: Any, reason: Exception | None = None) -> None:
    """Raise FloatingPointError if an action is not finite: the policy is the cause."""
    values = as_array(action)
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return
    where = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
    env = f"environment {where[0]}" if where else "the environment"
    raise FloatingPointError(
        f"the policy gave {env} the action {values[where[0]] if where else values}:"
        " its networks have diverged (or its observations were not finite before)."
        " Lower the learning rate, or scale observations and rewards"
    ) from reason


def are_finite(*trees: Any) -> bool:
    """Whether arrays, nested or not, are finite as float32, by their sum of squares."""
    total = 0.0
    for tree in trees:
        for leaf in map(np.asarray, leaves(tree) if hasattr(tree, "items") else [tree]):
            if leaf.dtype.kind == "f":
                total += float(np.vdot(leaf, leaf))
    return total <= MAX_SQUARE


def check_answer(obs: Any, when: str, *, reward: Any = (), action: Any = ()) -> None:
    """Raise an error for the first value that is not finite: an action is the cause."""
    check_action(action)
    for name, values in [("reward", reward), *named_leaves(obs, "observation")]:
        array = as_array(values)
        if array.dtype.kind == "f":
            check_finite(name, array, when)


def check_finite(name: str, values: np.ndarray, when: str) -> None:
    """Raise ValueError, which names the first, if a value is not finite.

    Environments are the last axis of rewards `[..., N]`, the first of observations.
    """
    with np.errstate(over="ignore"):
        where = np.argwhere(~np.isfinite(values.astype(np.float32)))
    if len(where) == 0:
        return
    env = where[0][-1] if name == "reward" else where[0][0]
    raise ValueError(
        f"environment {env} returned {name} {values[tuple(where[0])]} in {when}"
        f" (index {tuple(int(i) for i in where[0])} of shape {values.shape}): rewards"
        " and observations must be finite, as float32; find the division or overflow in"
        " the environment's step or reset, or clip there"
    )


def named_leaves(obs: Any, name: str) -> list[tuple[str, Any]]:
    """The leaves of an observation, with names such as `observation['camera']`."""
    if not hasattr(obs, "items"):
        return [(name, obs)]
    return [leaf for k in obs for leaf in named_leaves(obs[k], f"{name}[{k!r}]")]
