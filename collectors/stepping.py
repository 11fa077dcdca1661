"""Steps vector environments of any autoreset mode, and checks what they return."""

from copy import deepcopy
from functools import reduce
from operator import getitem
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from yieldrl.collectors.checks import (
    are_finite,
    check_action,
    check_answer,
    check_rewards,
    check_values,
)
from yieldrl.envs import TorchVectorEnv
from yieldrl.envs.arrays import copied, leaves, replaced
from yieldrl.envs.autoreset import Step, StepReader
from yieldrl.envs.serial import SerialVectorEnv
from yieldrl.foundations import spaces

__all__ = ["Step", "Stepper"]


class Stepper:
    """Steps a vector environment and finds the true next observation.

    In DISABLED mode it resets the environments whose episodes ended. The observations
    that it returns are never overwritten; rewards and flags are valid until the next
    step. Environments get copies of actions, because some write into them.
    """

    def __init__(self, envs: VectorEnv[Any, Any, Any]) -> None:
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
        try:
            obs, _ = self.envs.reset(seed=seed)
        except (KeyError, TypeError, ValueError) as reason:
            raise ValueError(f"reset() of {self.envs} failed: {reason}") from reason
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
            copy = copied if hasattr(action, "dtype") else deepcopy
            given = action if self._careful else copy(action)
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
        step = self.reader.read(*answer, resets=self.resets, action=action)
        if step.valid is not None:
            self.resets = step.ended
        elif self._resets_here:
            step = self._reset_ended(step)
        if self._checks:
            self._check_finite(step)
        if self._choices:
            self._check_choices(step.next_obs)
            if step.obs is not step.next_obs:
                self._check_choices(step.obs)
        return step

    def _reset_ended(self, step: Step) -> Step:
        ended = step.ended
        if not ended.any():
            return step
        if not self.reader.new_memory:  # the reset may write into the same
            step = Step(*map(copied, step))
        fresh, _ = self.envs.reset(options={"reset_mask": ended})
        return step._replace(obs=replaced(step.obs, fresh, ended))

    def _check_finite(self, step: Step) -> None:
        """Raise if an array holds a value that is not finite."""
        first = () if step.obs is step.next_obs else (step.obs,)
        if are_finite(step.reward, step.next_obs, *first):
            return
        when = f"step {self.steps} since the latest reset of all"
        check_answer(step.next_obs, when, reward=step.reward, action=step.action)
        check_answer(step.obs, f"the reset that follows {when}")

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
    if own or not isinstance(envs, TorchVectorEnv):
        return False
    seen, state = (
        {tensor.untyped_storage().data_ptr() for tensor in leaves(tree)}
        for tree in (obs, envs.state)
    )
    return bool(seen & state)
