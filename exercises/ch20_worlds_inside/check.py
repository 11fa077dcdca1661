"""What holds of imagined returns, and of errors that add up."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms import dreamer
from yieldrl.exercises.cases import Chapter


def _branches(end: Sequence[float], gae_lambda: float = 1.0) -> list[Any]:
    """Arguments of `imagined_returns`: two branches of three steps."""
    reward = torch.tensor([[1.0, 0.0], [-0.5, 2.0], [3.0, 1.0]])
    next_value = torch.tensor([[5.0, -1.0], [4.0, 8.0], [6.0, 2.0]])
    return [reward, torch.tensor([end, [*end][::-1]]).T, next_value, 0.9, gae_lambda]


def _drifts(state: Tensor, action: Tensor) -> Tensor:
    """A model that moves by the action, and a little too far."""
    return state * 1.1 + action


def _row(length: int) -> list[Any]:
    """Arguments of `k_step_errors`: steps in a row of four worlds."""
    generator = torch.Generator().manual_seed(20)
    action = torch.randn(length, 4, 2, generator=generator)
    first = torch.tensor([[[1.0, -2.0], [-0.5, 1.5], [2.0, 1.0], [-1.0, 0.5]]])
    all_obs = torch.cat([first, first + action.cumsum(0)])
    return [_drifts, all_obs[:-1], action, all_obs[1:], torch.tensor([0.5, 3.0])]


SETTINGS = {"memory_size": 8, "groups": 2, "classes": 3, "horizon": 3, "seed": 20}
SETTINGS |= {"hidden_sizes": (8,), "batch_size": 4, "sequence_length": 4}
SETTINGS |= {"num_envs": 2, "learning_starts": 32, "total_steps": 64}
SETTINGS |= {"env_id": "yieldrl/CartPole-v1"}
CHAPTER = Chapter(__name__)
CHAPTER.same(
    "imagined_returns",
    "At the horizon a branch goes on with what the critic says",
    _branches([0.0, 0.0, 0.0]),
    "A step that surely ends is worth its reward, and nothing after it",
    _branches([0.0, 1.0, 0.0]),
    "An end that is probable discounts what comes after it by that much",
    _branches([0.3, 0.8, 0.1]),
    "Lambda mixes the return of the next step with the critic's value",
    _branches([0.3, 0.8, 0.1], 0.6),
    "With lambda = 0 it is one reward, and the critic's value",
    _branches([0.3, 0.8, 0.1], 0.0),
    named="returns",
)
CHAPTER.same(
    "k_step_errors",
    "After one step it is the error of one prediction, in the unit",
    _row(1),
    "A prediction goes on from the one before it, and so do errors",
    _row(5),
    named="errors",
)
CHAPTER.constant(
    "The arguments stay as they were",
    ("imagined_returns", _branches([0.3, 0.8, 0.1], 0.6)),
    ("k_step_errors", _row(5)),
)
CHAPTER.trains(
    "Dreamer that uses these returns imagines what the library's own does",
    SETTINGS,
    Algorithm=dreamer,
)
