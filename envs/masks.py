"""Action masks in observations: which actions are possible."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Dict
from gymnasium.utils import RecordConstructorArgs

from yieldrl.core import spaces
from yieldrl.envs.arrays import ResetResult, StepResult

MASK = "action_mask"
"""Key of the mask, in observations and in infos."""


class ActionMask(gym.Wrapper, RecordConstructorArgs):
    """Adds the mask of possible actions to the observation, bool `[A]`.

    Observations become `{"observation": ..., "action_mask": ...}`, PettingZoo's
    convention, so that an agent has the mask wherever it acts. Environments provide it
    in one of three ways: such a Dict, whose mask becomes bool; a method
    `action_masks()`, as in sb3-contrib; or `info["action_mask"]`, as in Gymnasium's
    Taxi.

    The masks of several choices (MultiDiscrete) are concatenated, and each button of a
    MultiBinary is a choice of two: not pressed, pressed.

    Raises:
        TypeError: If its actions are not discrete.
        ValueError: At a reset or step: if there is no mask, if it has another shape, or
            if it forbids all actions before the episode has ended.

    >>> env = ActionMask(gym.make("Taxi-v4"))
    >>> obs, _ = env.reset(seed=0)
    >>> obs["observation"], obs["action_mask"].astype(int)
    (314, array([1, 1, 0, 0, 0, 0]))
    """

    def __init__(self, env: gym.Env) -> None:
        RecordConstructorArgs.__init__(self)  # so that Gymnasium can make it again
        gym.Wrapper.__init__(self, env)
        self.choices = spaces.choices(env.action_space)
        bits: Any = np.bool_  # missing in the types of Box
        mask = Box(0, 1, (sum(self.choices),), bits)
        self._mask = np.ones(sum(self.choices), dtype=np.bool_)
        inner: Any = env.observation_space
        self._inside = isinstance(inner, Dict) and MASK in inner.spaces
        entries = inner.spaces if self._inside else {"observation": inner}
        self.observation_space = Dict({**entries, MASK: mask})
        has_method = env.has_wrapper_attr("action_masks")
        self._method = env.get_wrapper_attr("action_masks") if has_method else None

    def reset(self, *, seed: int | None = None, options: Any = None) -> ResetResult:
        obs, info = self.env.reset(seed=seed, options=options)
        return self._masked(obs, info, ended=False), info

    def step(self, action: Any) -> StepResult:
        obs, reward, terminated, truncated, info = self.env.step(action)
        obs = self._masked(obs, info, ended=terminated or truncated)
        return obs, reward, terminated, truncated, info

    def action_masks(self) -> np.ndarray:
        """The latest mask, bool `[A]`; the method that sb3-contrib uses."""
        return self._mask

    def _masked(self, obs: Any, info: dict[str, Any], *, ended: bool) -> dict[str, Any]:
        if self._inside:
            mask = obs[MASK]
        elif self._method is not None:
            mask = self._method()
        elif MASK in info:
            mask = info[MASK]
        else:
            raise ValueError(
                f"{self.env} says nowhere which actions are possible: give it a method"
                f" action_masks(), or put {MASK!r} into its infos or observations"
            )
        mask = np.array(mask, dtype=np.bool_)
        if mask.shape != self._mask.shape:
            raise ValueError(
                f"the action mask of {self.env} has the shape {mask.shape}; for"
                f" {self.action_space} it must be {self._mask.shape}"
            )
        # After the end there is no action, so the mask may be anything.
        parts = np.split(mask, np.cumsum(self.choices)[:-1])
        if not ended and not all(part.any() for part in parts):
            raise ValueError(
                f"the action mask {mask.astype(int)} of {self.env} leaves no action"
                " possible: an environment with nothing left to do must terminate"
            )
        self._mask = mask
        return {**(obs if self._inside else {"observation": obs}), MASK: mask}
