"""Base class of the five MinAtar games: actions, randomness, observations."""

import math
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.batched.tree import pack_bools
from yieldrl.envs.minatar import painting
from yieldrl.envs.minatar.painting import SIZE, Thing

State = dict[str, Tensor]
Transition = tuple[State, Tensor, Tensor]
"""Next state, reward and whether the episode ends, the last two `[N]`."""

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
    Numbers are int32, of which a CPU computes 16 at once; flags are stored as 0 or 1,
    because storing bools is slow.

    Args:
        sticky_action_prob: Probability of repeating the previous action; ValueError
            if it is no probability.
        difficulty_ramping: Whether Asterix, Space Invaders and Seaquest become harder.
        minimal_actions: False for all six actions in every game.
        kwargs: Arguments of `TorchVectorEnv`.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012
    channels: tuple[str, ...]
    actions: tuple[int, ...]
    first_noise: tuple[float, ...] = (0.0,)
    """Noise with which `begin` makes every possible first state, to paint their boards
    only once; empty if there are many."""

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
            given = f"sticky_action_prob = {sticky_action_prob}"
            raise ValueError(f"{given}: must be in [0, 1]")
        shape = (SIZE, SIZE, len(self.channels))
        bits: Any = np.bool_  # missing in the types of Box
        self.single_observation_space = spaces.Box(0, 1, shape, bits)
        actions = self.actions if minimal_actions else range(6)
        self.single_action_space = spaces.Discrete(len(actions))
        super().__init__(num_envs, **kwargs)
        self.sticky_action_prob = sticky_action_prob
        self.difficulty_ramping = difficulty_ramping
        self._meanings = sum(action << 3 * k for k, action in enumerate(actions))
        noise = torch.zeros(self.noise_size, 1, device=self.device)
        begun = self.initial_state(noise)
        self._layout = {k: (str(x.dtype)[6:], x.shape[:-1]) for k, x in begun.items()}
        firsts = [self.initial_state(noise + number) for number in self.first_noise]
        self._first_boards = [pack_bools(self.observe(first)) for first in firsts]

    def begin(self, noise: Tensor) -> State:
        """`initial_state` of the game: int32 or int64, with `N` as the last axis."""
        raise NotImplementedError(f"{type(self)} lacks begin(noise)")

    def play(self, state: State, action: Tensor, noise: Tensor) -> Transition:
        """`random_dynamics` of the game; `action` is the executed one of the six."""
        raise NotImplementedError(f"{type(self)} lacks play(state, action, noise)")

    def things(self, state: State) -> tuple[Thing, ...]:
        """`observe` of the game: the things on the board, for `paint`."""
        raise NotImplementedError(f"{type(self)} lacks things(state)")

    def initial_state(self, noise: Tensor) -> State:
        return {**self.begin(noise), **self.full(noise, action=NOTHING)}

    def random_dynamics(
        self, state: State, action: Tensor, noise: Tensor
    ) -> Transition:
        stuck = noise[0] < self.sticky_action_prob
        action = torch.where(stuck, state["action"], self.meant(action))
        state, reward, terminated = self.play(state, action, noise)
        return {**state, "action": action}, reward.float(), terminated

    def meant(self, action: Tensor) -> Tensor:
        """Convert actions of the game to those of the six, int32."""
        # Three bits each: a CPU shifts 16 numbers at once, but indexes one by one.
        return (self._meanings >> 3 * action.int()) & 7

    def observe(self, state: State) -> Tensor:
        return painting.paint(self.things(state), len(self.channels))

    def observe_restarted(self, ended: Tensor, state: State, final_obs: Any) -> Tensor:
        """The observations, with first boards where a game ended."""
        if not self._first_boards:
            return self.observe(state)
        masks = self.begun(ended, state)
        return painting.with_boards(final_obs, masks, self._first_boards)

    def begun(self, ended: Tensor, state: State) -> tuple[Tensor, ...]:
        """For each first board, the mask of ended episodes that restart with it."""
        return (ended,)

    def full(self, noise: Tensor, *shape: int, **values: int) -> State:
        """Named int32 tensors `[*shape, N]`, filled with values; N from the noise."""
        size = (*shape, noise.shape[1])
        like: Any = {"dtype": torch.int32, "device": self.device}
        return {name: torch.full(size, x, **like) for name, x in values.items()}

    def numbers(self, begin: int, end: int) -> Tensor:
        """The numbers `begin` to `end` - 1, int32 `[end - begin, 1]`."""
        return torch.arange(begin, end, dtype=torch.int32, device=self.device)[:, None]

    def fold(self, state: State) -> State:
        """The state of the game: int32 `[D, N]`, and int64 if it has any."""
        parts: dict[str, list[Tensor]] = {}
        for name, (kind, _) in self._layout.items():
            x = state[name]
            parts.setdefault(kind, []).append(x.reshape(-1, x.shape[-1]))
        return {kind: torch.cat(rows) for kind, rows in parts.items()}

    def unfold(self, state: State) -> State:
        named, taken = {}, dict.fromkeys(state, 0)
        for name, (kind, shape) in self._layout.items():
            begin = taken[kind]
            taken[kind] = begin + math.prod(shape)
            named[name] = state[kind][begin : taken[kind]].reshape(*shape, -1)
        return named

    def draw(self, state: dict[str, np.ndarray], index: int) -> np.ndarray:
        column = {
            kind: torch.as_tensor(x, device=self.device)[:, None]
            for kind, x in state.items()
        }
        return painting.picture(self.observe(self.unfold(column))[0].cpu().numpy())


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
