"""What holds of generalized advantage estimation."""

from collections.abc import Sequence
from typing import Any

import torch

from yieldrl.algorithms import a2c
from yieldrl.exercises.cases import Chapter, flags


def _walk(
    gae_lambda: float, terminated: Sequence[int] = (), truncated: Sequence[int] = ()
) -> list[Any]:
    """Arguments of `gae`: five steps of one environment."""
    reward = torch.tensor([[1.0], [0.0], [2.0], [0.0], [4.0]])
    value = torch.tensor([[3.0], [5.0], [1.0], [4.0], [2.0]])
    next_value = torch.cat([value[1:], torch.tensor([[6.0]])])
    ends = flags(5, terminated, truncated)
    next_value[ends[0] | ends[1]] = 7.0  # of the last state, which has no row
    return [reward, value, next_value, *(of[:, None] for of in ends), 0.9, gae_lambda]


def _environments() -> list[Any]:
    """Arguments of `gae`: six steps of four environments."""
    generator = torch.Generator().manual_seed(9)
    values = torch.randn(3, 6, 4, generator=generator)
    terminated, truncated = torch.rand(2, 6, 4, generator=generator) < 0.2
    return [*values, terminated, truncated & ~terminated, 0.9, 0.8]


SETTINGS = {"total_steps": 512, "gae_lambda": 0.9, "normalize_reward": False, "seed": 9}
CHAPTER = Chapter(__name__)
CHAPTER.same(
    "gae",
    "With lambda = 0 an advantage is the TD error r + gamma V(s') - V(s)",
    _walk(0.0),
    "With lambda = 1 it is the discounted sum of all that follows, less V(s)",
    _walk(1.0),
    "In between, later TD errors count by powers of gamma lambda",
    _walk(0.5),
    "A terminated step has no future, and ends the sum",
    _walk(0.9, terminated=[2]),
    "A truncated step ends the sum, and is still bootstrapped from V(s')",
    _walk(0.9, truncated=[2]),
    "Environments side by side do not touch each other",
    _environments(),
    named="advantage",
)
CHAPTER.constant(
    "An advantage is a constant to the loss, and the arguments stay as they were",
    ("gae", _walk(0.9, terminated=[2])),
    of=[1, 2],
    hint="detach it: else the actor's loss also moves the critic",
)
CHAPTER.trains(
    "A2C that uses it takes the same steps as with the library's own",
    SETTINGS,
    Algorithm=a2c,
)
