"""What the five games of MinAtar share: actions, chance, pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from yieldrl.envs import batched_support as support
from yieldrl.envs.batched import TorchVectorEnv

SIZE = 10  # rows and columns of every game
NOTHING, LEFT, UP, RIGHT, DOWN, FIRE = range(6)

CELL = 16  # pixels of a picture


class MinAtarVectorEnv(TorchVectorEnv):
    """Base class of the games: N boards of 10 x 10 cells on a device.

    Observations are bool `[N, 10, 10, C]`, a channel per kind of thing, and step by
    step those of the package `minatar` (version 1.0.15) under the same chance. The six
    actions are 0 nothing, 1 left, 2 up, 3 right, 4 down and 5 fire; the minimal set
    leaves out those that do nothing in a game.

    The games have no time limit (Freeway ends by itself): set `max_episode_steps` if
    episodes of a good player may not last forever.

    Leave `compile` at False: on a CPU the compiled step is the slower one.

    Source: Young and Tian (2019), "MinAtar: An Atari-Inspired Testbed for Thorough and
    Reproducible Reinforcement Learning Experiments", arXiv:1903.03176. Differs from the
    package: what a sticky action repeats in the first step of an episode is "nothing",
    not the last action of the episode before.

    A game names its `channels`, its minimal `actions` and its `noise_size`, and writes
    `initial_state`, `play` and `observe`. Row 0 of the noise says which actions stick,
    so the rows that `initial_state` takes begin at 1.

    Args:
        num_envs: N, the number of boards.
        sticky_action_prob: How often the action before is played instead.
        difficulty_ramping: Whether Asterix, Space Invaders and Seaquest become harder.
        minimal_actions: False for all six actions in every game.
        kwargs: Arguments of `TorchVectorEnv`.

    Raises:
        ValueError: If `sticky_action_prob` is no probability.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012
    channels: tuple[str, ...]
    actions: tuple[int, ...]

    def __init__(
        self,
        num_envs: int = 1,
        *,
        sticky_action_prob: float = 0.1,
        difficulty_ramping: bool = True,
        minimal_actions: bool = True,
        **kwargs: Any,
    ) -> None:
        if not 0 <= sticky_action_prob <= 1:
            raise ValueError(
                f"sticky_action_prob = {sticky_action_prob}: must be in [0, 1]"
            )
        shape = (SIZE, SIZE, len(self.channels))
        bits: Any = np.bool_  # which annotations of Box leave out
        self.single_observation_space = spaces.Box(0, 1, shape, bits)
        actions = self.actions if minimal_actions else range(6)
        self.single_action_space = spaces.Discrete(len(actions))
        super().__init__(num_envs, **kwargs)
        self.sticky_action_prob = sticky_action_prob
        self.difficulty_ramping = difficulty_ramping
        self._meaning = torch.tensor(list(actions), device=self.device)

    def play(
        self, state: dict[str, Tensor], action: Tensor, noise: Tensor
    ) -> tuple[dict[str, Tensor], Tensor, Tensor]:
        """`random_dynamics` of the game: the action is the one of the six played."""
        raise NotImplementedError(f"{type(self)} lacks play(state, action, noise)")

    def random_dynamics(
        self, state: dict[str, Tensor], action: Tensor, noise: Tensor
    ) -> tuple[dict[str, Tensor], Tensor, Tensor]:
        """Play the action, or once more the one before."""
        stuck = noise[0] < self.sticky_action_prob
        action = torch.where(stuck, state["action"], self._meaning[action])
        state, reward, terminated = self.play(state, action, noise)
        return {**state, "action": action}, reward, terminated

    def paint(self, *things: tuple[Any, Any, Any]) -> Tensor:
        """Observations bool `[N, 10, 10, C]` of things in cells.

        Each is a channel, row and column, tensors `[N]` or `[K, N]` or numbers, of
        int16 or wider. A column outside of the board is not seen. The first thing,
        `[N]`, always is.
        """
        cells, n = SIZE * SIZE * len(self.channels), things[0][1].shape[-1]
        board = torch.zeros(n * cells, dtype=torch.bool, device=self.device)
        begins = torch.arange(0, n * cells, cells, device=self.device)
        always: Tensor | None = None
        for channel, row, column in things:
            place = (row * SIZE + column) * len(self.channels) + channel
            if always is None:
                always = place
            else:  # what is not seen is painted where something is seen anyway
                seen = (column >= 0) & (column < SIZE)
                place = torch.where(seen, place, always)
            board.index_fill_(0, (place + begins).flatten(), True)
        return board.view(n, SIZE, SIZE, len(self.channels))

    def draw(self, state: dict[str, np.ndarray], index: int) -> np.ndarray:
        """A picture uint8 `[160, 160, 3]`: black, or the colour of the last channel."""
        column = support.tree_map(
            lambda x: torch.as_tensor(x, device=self.device)[..., None], state
        )
        board = self.observe(column)[0].cpu().numpy()
        number = (board * np.arange(1, len(self.channels) + 1)).max(-1)
        return palette(len(self.channels))[number].repeat(CELL, 0).repeat(CELL, 1)


def palette(count: int) -> np.ndarray:
    """Black and `count` colours of the cubehelix, uint8 `[1 + count, 3]`.

    Source: Green (2011), "A colour scheme for the display of astronomical intensity
    images", arXiv:1108.5083, with its default parameters.
    """
    light = np.linspace(0, 1, count + 2)[:-1, None]
    angle = 2 * np.pi * (0.5 / 3 - 1.5 * light)
    wave = np.cos(angle) * [-0.14861, -0.29227, 1.97294]
    wave = wave + np.sin(angle) * [1.78277, -0.90649, 0]
    colours = light + light * (1 - light) / 2 * wave
    return np.round(255 * colours.clip(0, 1)).astype(np.uint8)
