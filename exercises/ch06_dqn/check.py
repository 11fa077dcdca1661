"""What holds of DQN's target and of its loss."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from yieldrl.algorithms import dqn
from yieldrl.exercises.cases import Chapter, flags

NEXT = torch.tensor([1, 2, 0])


def _network(*rows: Sequence[float]) -> nn.Linear:
    network = nn.Linear(3, 3, bias=False)
    with torch.no_grad():
        network.weight.copy_(torch.tensor(rows).T)
    return network


# Three states and three actions, so that the axes can be mistaken.
ONLINE = _network([1.0, 4.0, 2.0], [7.0, 3.0, 5.0], [6.0, 9.0, 11.0])
TARGET = _network([3.0, 2.5, 1.5], [8.0, 12.0, 4.5], [-2.0, -3.0, -1.0])


def _steps(terminated: Sequence[int] = (), truncated: Sequence[int] = ()) -> list[Any]:
    """Arguments of `td_target`: three transitions."""
    reward, next_obs = torch.tensor([0.5, -1.0, 2.0]), torch.eye(3)[NEXT]
    ends = flags(3, terminated, truncated)
    return [ONLINE, TARGET, reward, next_obs, *ends, 0.9]


def _errors(clip: float) -> list[Any]:
    """Arguments of `element_loss`: errors of 1.5, -5 and 0.5."""
    action, goal = torch.tensor([2, 0, 1]), torch.tensor([3.5, 2.0, 9.5])
    return [ONLINE, torch.eye(3), action, goal, clip]


SETTINGS = {"total_steps": 300, "learning_starts": 100, "seed": 6}
SETTINGS |= {"batch_size": 32, "hidden_sizes": (32,), "error_clip": 0.5}
SETTINGS |= {"env_kwargs": {"max_episode_steps": 15}}
CHAPTER = Chapter(__name__)
CHAPTER.same(
    "td_target",
    "The target is r + gamma max_a' Q'(s', a'), and Q' is the target network",
    _steps(),
    "After a terminated step nothing follows, and its reward counts",
    _steps(terminated=[1, 2]),
    "A truncated step is no end, and is bootstrapped like any other",
    _steps(terminated=[1], truncated=[0, 2]),
)
CHAPTER.constant(
    "The target has no gradient, and the arguments stay as they were",
    ("td_target", _steps(terminated=[1], truncated=[0])),
    of=[0, 1],
    hint="the target is a constant: ask the network under `torch.no_grad()`",
)
CHAPTER.same(
    "element_loss",
    "The loss is half of the squared error of the action that was taken, [B]",
    _errors(math.inf),
    "Errors beyond `clip` count along a line that meets the parabola",
    _errors(2.0),
)
CHAPTER.gradient(
    "Its gradient is the error, at most `clip`, at the action taken and only there",
    "element_loss",
    _errors(2.0),
)
CHAPTER.trains(
    "DQN that uses both takes the same steps as the library's own, on CartPole",
    SETTINGS,
    Algorithm=dqn,
)
