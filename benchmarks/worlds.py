"""Worlds that are each made to show one thing."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Discrete


class Corridor(gym.Env[int, int]):
    """A row of rooms: one action leads a room on, the other one back, further `idle`
    ones nowhere. Which is which differs from room to room. Behind the last one is a
    reward. If it `falls`, the wrong action ends the episode instead: a blind cliffwalk
    (arXiv:1511.05952, section 3.1)."""

    def __init__(
        self, length: int = 30, reward: float = 1.0, idle: int = 0, falls: bool = False
    ) -> None:
        self.reward, self.falls = reward, falls
        self.observation_space: Any = Discrete(length)
        self.num_actions = 2 + idle
        self.action_space: Any = Discrete(self.num_actions)
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
            back = self.room if self.falls else max(0, self.room - 1)
            self.room = self.room + 1 if onward else back
        fallen = not onward and self.falls
        return self.room, self.reward * arrived, arrived or fallen, False, {}


gym.register("Corridor-v0", f"{__name__}:Corridor", max_episode_steps=200)
