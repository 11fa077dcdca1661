"""One environment of a batch, for code that steps one at a time."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from yieldrl.envs.batched import TorchVectorEnv


class SingleEnv(gym.Env[Any, Any]):
    """A `TorchVectorEnv` of one as a plain Gymnasium environment of NumPy arrays.

    With it `gymnasium.make` makes what `gymnasium.make_vec` makes many of, and other
    libraries can step it. The time limit is left to Gymnasium's wrapper.

    Args:
        kwargs: Arguments of the batched environment.

    Attributes:
        batch_class: The batched environment.
    """

    batch_class: ClassVar[type[TorchVectorEnv]]

    def __init__(self, **kwargs: Any) -> None:
        kwargs = {"max_episode_steps": None, **kwargs}
        self.envs = self.batch_class(
            num_envs=1, autoreset_mode=AutoresetMode.DISABLED, **kwargs
        )
        self.observation_space = self.envs.single_observation_space
        self.action_space = self.envs.single_action_space
        self.render_mode = self.envs.render_mode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        obs, info = self.envs.reset(seed=seed, options=options)
        return obs[0].cpu().numpy(), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.envs.step(np.array([action]))
        flags = bool(terminated[0]), bool(truncated[0])
        return obs[0].cpu().numpy(), float(reward[0]), *flags, info

    def render(self) -> Any:
        return None if self.render_mode is None else self.envs.render()[0]
