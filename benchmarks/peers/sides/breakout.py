"""MinAtar's Breakout of the package `minatar`, for Gymnasium, and a CNN to see it."""

from typing import Any

import gymnasium
import minatar
import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn


class Breakout(gymnasium.Env[np.ndarray, int]):
    """The game with its minimal set of actions, and boards `[C, 10, 10]`."""

    def __init__(self) -> None:
        self.game = minatar.Environment("breakout")
        self.meanings = self.game.minimal_action_set()
        height, width, channels = self.game.state_shape()
        self.observation_space = Box(0, 1, (channels, height, width), np.uint8)
        self.action_space = Discrete(len(self.meanings))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self.game.seed(seed)
        self.game.reset()
        return self._board(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        reward, ended = self.game.act(self.meanings[int(action)])
        return self._board(), float(reward), bool(ended), False, {}

    def _board(self) -> np.ndarray:
        return np.moveaxis(self.game.state(), -1, 0).astype(np.uint8)


class Features(BaseFeaturesExtractor):
    """One 3 x 3 convolution and 128 features (arXiv:1903.03176), as yieldrl has it."""

    def __init__(self, observation_space: Box) -> None:
        super().__init__(observation_space, 128)
        channels, height, width = observation_space.shape
        flat = 16 * (height - 2) * (width - 2)
        convolution = nn.Sequential(nn.Conv2d(channels, 16, 3), nn.ReLU())
        head = nn.Sequential(nn.Linear(flat, 128), nn.ReLU())
        self.layers = nn.Sequential(convolution, nn.Flatten(), head)

    def forward(self, observations: Tensor) -> Tensor:
        return self.layers(observations.to(torch.float32))
