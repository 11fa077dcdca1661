"""Worlds that are each made to show one thing."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Discrete


class Corridor(gym.Env[int, int]):
    """A row of rooms: one action leads a room on, the other one back, further `idle`
    ones nowhere. Which is which differs from room to room. Behind the last one is a
    reward."""

    def __init__(self, length: int = 30, reward: float = 1.0, idle: int = 0) -> None:
        self.reward = reward
        self.observation_space = Discrete(length)
        self.num_actions = 2 + idle
        self.action_space = Discrete(self.num_actions)
        self.onward = np.random.default_rng(length).integers(2, size=length)
        self.room = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.room = 0
        return self.room, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        if action >= 2:
            return self.room, 0.0, False, False, {}
        onward = action == self.onward[self.room]
        arrived = bool(onward and self.room == len(self.onward) - 1)
        if not arrived:
            self.room = self.room + 1 if onward else self.back()
        fallen = not onward and self.falls
        return self.room, self.reward * arrived, arrived or fallen, False, {}

    falls = False

    def back(self) -> int:
        return max(0, self.room - 1)


class Cliffwalk(Corridor):
    """A corridor in which the wrong action ends the episode (arXiv:1511.05952, section
    3.1)."""

    falls = True

    def back(self) -> int:
        return self.room


gym.register("Corridor-v0", entry_point=Corridor, max_episode_steps=200)
gym.register("Cliffwalk-v0", entry_point=Cliffwalk)
