"""Wait after resets until objects have come to rest."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import RecordConstructorArgs


class WaitingSteps(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Takes some steps without acting after every reset; they are not counted.

    In simulated kitchens things fall into place first: Liu et al. 2023, "LIBERO",
    arXiv:2306.03310, and its code, with 10 steps. It is for single environments, and
    belongs inside of time limits.

    Args:
        env: The environment.
        steps: Number of steps.
        action: The action of these steps; by default zeros, for a Box.

    Raises:
        TypeError: If actions are no Box and none is named.
        RuntimeError: If an episode ends while it waits.
    """

    def __init__(self, env: gym.Env[Any, Any], steps: int, action: Any = None) -> None:
        RecordConstructorArgs.__init__(self, steps=steps, action=action)
        super().__init__(env)
        space = env.action_space
        if action is None and not isinstance(space, Box):
            raise TypeError(f"actions are of {space}: name the action that waits")
        self.steps = steps
        self.waiting = np.zeros_like(space.sample()) if action is None else action

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(**options)
        for _ in range(self.steps):
            obs, _, terminated, truncated, info = self.env.step(self.waiting)
            if terminated or truncated:
                raise RuntimeError(
                    f"the episode of {self.env} ended within {self.steps} steps of"
                    " waiting: choose fewer, or another action"
                )
        return obs, info
