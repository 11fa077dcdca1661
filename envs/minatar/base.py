"""Base class of the five MinAtar games: actions, randomness, observations."""

from typing import Any, ClassVar

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from yieldrl.envs.batched import TorchVectorEnv, Transition
from yieldrl.envs.batched.inputs import check_range

State = dict[str, Tensor]
SIZE = 10  # rows and columns of every game
OUTSIDE = -1  # a column outside the board
CELL = 16  # pixels of a cell when rendering

Thing = tuple[int | Tensor, int | Tensor, Tensor]
"""Channel, row and column of a thing in each environment, `[N]`, or of K, `[K, N]`.
Tensors are int32; things in columns outside the board are invisible."""

NOTHING, LEFT, UP, RIGHT, DOWN, FIRE = range(6)


class MinAtarVectorEnv(TorchVectorEnv):
    """Base class of the games: N boards of 10 x 10 cells on a device.

    Observations are bool `[N, 10, 10, C]`, a channel per kind of thing, and equal those
    of the package `minatar` (version 1.0.15) for the same random numbers. The six
    actions are 0 nothing, 1 left, 2 up, 3 right, 4 down and 5 fire; the minimal set
    leaves out those without effect in a game. Only Freeway has a time limit. With many
    boards, `compile=True` makes a step several times as fast.

    Source: Young and Tian (2019), "MinAtar: An Atari-Inspired Testbed for Thorough and
    Reproducible Reinforcement Learning Experiments", arXiv:1903.03176. Differs from the
    package: a sticky action in an episode's first step repeats "nothing", not the last
    action of the previous episode.

    A game defines `channels`, its minimal `actions`, `noise_size`, and the methods
    `begin`, `play` and `things`. Row 0 of the noise decides which actions stick.
    Numbers are int32, of which a CPU computes 16 at once, and flags are 0 or 1.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012
    channels: ClassVar[tuple[str, ...]]
    actions: ClassVar[tuple[int, ...]]

    sticky_action_prob: float = 0.1
    """Probability of repeating the previous action; ValueError if it is none."""
    difficulty_ramping: bool = True
    """Whether Asterix, Space Invaders and Seaquest become harder."""
    minimal_actions: bool = True
    """False for all six actions in every game."""

    def __init__(self, num_envs: int = 1, **kwargs: Any) -> None:
        check_range("sticky_action_prob", self.sticky_action_prob, 0, 1)
        shape = (SIZE, SIZE, len(self.channels))
        bits: Any = np.bool_  # missing in the types of Box
        self.single_observation_space = spaces.Box(0, 1, shape, bits)
        actions = self.actions if self.minimal_actions else tuple(range(6))
        self.single_action_space = spaces.Discrete(len(actions))
        super().__init__(num_envs, **kwargs)
        self._meanings = torch.tensor(actions, dtype=torch.int32).to(self.device)

    def begin(self, noise: Tensor) -> State:
        """`initial_state` of the game: int32, with `N` as the last axis."""
        raise NotImplementedError(f"{type(self)} lacks begin(noise)")

    def play(self, state: State, action: Tensor, noise: Tensor) -> Transition:
        """`random_dynamics` of the game; `action` is the executed one of the six."""
        raise NotImplementedError(f"{type(self)} lacks play(state, action, noise)")

    def things(self, state: State) -> tuple[Thing, ...]:
        """`observe` of the game: the things on the board, for `paint`."""
        raise NotImplementedError(f"{type(self)} lacks things(state)")

    def initial_state(self, noise: Tensor) -> State:
        return {**self.begin(noise), **self.full(noise, action=NOTHING)}

    def random_dynamics(self, state: Any, action: Tensor, noise: Tensor) -> Transition:
        stuck = noise[0] < self.sticky_action_prob
        action = torch.where(stuck, state["action"], self.meant(action))
        state, reward, terminated = self.play(state, action, noise)
        return {**state, "action": action}, reward.float(), terminated

    def meant(self, action: Tensor) -> Tensor:
        """Convert actions of the game to those of the six, int32."""
        return self._meanings[action]

    def observe(self, state: State) -> Tensor:
        return paint(self.things(state), len(self.channels))

    def full(self, noise: Tensor, *shape: int, **values: int) -> State:
        """Named int32 tensors `[*shape, N]`, filled with values; N from the noise."""
        size = (*shape, noise.shape[1])
        like: Any = {"dtype": torch.int32, "device": self.device}
        return {name: torch.full(size, x, **like) for name, x in values.items()}

    def numbers(self, begin: int, end: int) -> Tensor:
        """The numbers `begin` to `end` - 1, int32 `[end - begin, 1]`."""
        return torch.arange(begin, end, dtype=torch.int32, device=self.device)[:, None]

    def draw(self, state: dict[str, np.ndarray], index: int) -> np.ndarray:
        tensors = {name: torch.as_tensor(x)[..., None] for name, x in state.items()}
        return picture(self.observe(tensors)[0].numpy())


def across(action: Tensor) -> Tensor:
    """1 to the right, -1 to the left, 0 otherwise, int32 `[N]`."""
    return (action == RIGHT).int() - (action == LEFT).int()


def down(action: Tensor) -> Tensor:
    """1 down, -1 up, 0 otherwise, int32 `[N]`."""
    return (action == DOWN).int() - (action == UP).int()


def choices(number: Tensor, *counts: int | Tensor) -> list[Tensor]:
    """Independent uniform choices below each count, int32, from one number in [0, 1),
    whose 24 bits are enough for counts with a product of ten thousand."""
    chosen: list[Tensor] = []
    for count in counts:
        number = number * count
        chosen.append(number.int())
        number = number - chosen[-1]
    return chosen


def total(x: Tensor) -> Tensor:
    """The sum over the first axis, int32."""
    return x.sum(0, dtype=torch.int32)


def paint(things: tuple[Thing, ...], channels: int) -> Tensor:
    """Observations bool `[N, 10, 10, C]`."""
    n, device = things[0][2].shape[-1], things[0][2].device
    cells = SIZE * SIZE * channels
    # One cell more than there are, which all invisible things are painted into.
    flat = torch.zeros(n * cells + 1, dtype=torch.bool, device=device)
    board = flat[:-1].view(n, SIZE, SIZE, channels)
    begins = torch.arange(0, n * cells, cells, device=device)
    for channel, row, column in things:
        place = (row * SIZE + column) * channels + channel + begins
        seen = (column >= 0) & (column < SIZE)
        flat.index_fill_(0, torch.where(seen, place, n * cells).flatten(), True)
    return board


def picture(board: np.ndarray) -> np.ndarray:
    """Render a board bool `[10, 10, C]` as uint8 `[160, 160, 3]`: cells are black or in
    the colour of their last channel."""
    channels = board.shape[-1]
    number = (board * np.arange(1, channels + 1)).max(-1)
    return palette(channels)[number].repeat(CELL, 0).repeat(CELL, 1)


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
