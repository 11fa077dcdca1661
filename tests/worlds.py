"""Environments whose every observation is known beforehand."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Discrete


class Counter(gym.Env[np.ndarray, int]):
    """Counts its steps: observation `[episode, step]`, reward `step`.

    It ends after `length` steps, by termination in even episodes and by truncation in
    odd ones, so every kind of end is met, at times that differ between copies.
    """

    def __init__(self, length: int = 3) -> None:
        self.observation_space = Box(-np.inf, np.inf, (2,), np.float32)
        self.action_space = Discrete(2)
        self.length = length
        self.episode = -1
        self.step_number = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.episode += 1
        self.step_number = 0
        return self._obs(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.step_number += 1
        ended = self.step_number == self.length
        terminated = ended and self.episode % 2 == 0
        truncated = ended and self.episode % 2 == 1
        return self._obs(), float(self.step_number), terminated, truncated, {}

    def _obs(self) -> np.ndarray:
        return np.array([self.episode, self.step_number], dtype=np.float32)


class Reusing(Counter):
    """Writes every observation into one and the same array."""

    def __init__(self, length: int = 3) -> None:
        super().__init__(length)
        self.array = np.zeros(2, dtype=np.float32)

    def _obs(self) -> np.ndarray:
        self.array[:] = self.episode, self.step_number
        return self.array


class Broken(Counter):
    """Gives a number that is not one at its second step."""

    def __init__(self, what: str) -> None:
        super().__init__(length=5)
        self.what = what

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = super().step(action)
        if self.step_number == 2 and self.what == "reward":
            reward = float("nan")
        if self.step_number == 2 and self.what == "observation":
            obs = np.array([np.inf, 0], dtype=np.float32)
        return obs, reward, terminated, truncated, info


class Idle:
    """An agent that always answers zero."""

    def __init__(self) -> None:
        self.sample_step = 0

    def sample(self, obs: Any) -> tuple[Any, dict[str, Any]]:
        return np.zeros(len(obs), dtype=np.int64), {}

    def predict(self, obs: Any) -> Any:
        return np.zeros(len(obs), dtype=np.int64)
