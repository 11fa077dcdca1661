"""Worlds that are each made to show one thing, and what is true in them."""

from collections.abc import Iterator, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.spaces import Discrete
from torch import Tensor

from yieldrl.envs.grid_world import GoToVectorEnv


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

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
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

    def walk(self, room: int, way: Sequence[int]) -> Iterator[dict[str, np.ndarray]]:
        """Transitions of actions, the last one first, from a room on until the episode
        ends, as a replay buffer takes them."""
        self.room = room
        names = ("next_obs", "reward", "terminated", "truncated")
        for action in reversed(way):
            entries: dict[str, Any] = {"obs": self.room, "action": action}
            entries |= zip(names, self.step(action)[:4], strict=True)
            yield {name: np.array([value]) for name, value in entries.items()}
            if entries["terminated"]:
                return

    def truth(self, gamma: float) -> Tensor:
        """`Q*` `[S, A]` for a reward of 1: gamma to the power of the steps before it;
        0 where the wrong action ends the episode."""
        rooms, onward = torch.arange(len(self.onward)), torch.from_numpy(self.onward)
        best = gamma ** rooms.flip(0)
        stay = 0.0 if self.falls else gamma
        values = (stay * best).unsqueeze(1).repeat(1, self.num_actions)
        values[rooms, 1 - onward] = stay * best[(rooms - 1).clamp(min=0)]
        values[rooms, onward] = best
        return values


gym.register("Corridor-v0", f"{__name__}:Corridor", max_episode_steps=200)


class Misled(GoToVectorEnv):
    """GoTo whose sentence names an object drawn by itself: it says nothing.

    Obeying it leads to the rewarded object in one of `num_objects` episodes.
    """

    def initial_state(self, noise: Tensor) -> dict[str, Tensor]:
        """As ever, and `named [N]`, the object that the sentence is about."""
        state, k = super().initial_state(noise), self.num_objects
        rest = (noise[2 * k + 1] * k) % 1  # independent of what it was rounded to
        return {**state, "named": (rest * k).long().clamp(max=k - 1)}

    def observe(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """As ever, but for the object that is named."""
        return super().observe({**state, "goal": state["named"]})
