"""What holds of the targets of Q-learning and SARSA."""

from collections.abc import Sequence
from typing import Any

import torch

from yieldrl.algorithms import q_learning, sarsa
from yieldrl.exercises.cases import Chapter, flags

# `Q`, four states and three actions; every entry is another
TABLE = torch.tensor(
    [[1.0, 4.0, 2.0], [7.0, 3.0, 5.0], [6.0, 9.0, 11.0], [-3.0, -8.0, -2.0]]
)


def _sarsa(terminated: Sequence[int] = (), truncated: Sequence[int] = ()) -> list[Any]:
    """Arguments of `sarsa_target`: four transitions."""
    columns = [0, 1, 3, 2], [2, 0, 0, 1], [0.5, -1.0, 2.0, 1.0], [1, 2, 0, 3]
    given = [TABLE, *map(torch.tensor, columns), torch.tensor([1, 0, 2, 1])]
    return [*given, *flags(4, terminated, truncated), 0.9]


def _q_learning(
    terminated: Sequence[int] = (), truncated: Sequence[int] = ()
) -> list[Any]:
    """Arguments of `q_learning_target`: the same, without the next action."""
    given = _sarsa(terminated, truncated)
    return [*given[:5], *given[6:]]


SETTINGS = {"env_kwargs": {"max_episode_steps": 12}, "num_envs": 4}
SETTINGS |= {"total_steps": 400, "seed": 4}
CHAPTER = Chapter(__name__)
CHAPTER.same(
    "q_learning_target",
    "Q-learning's target is r + gamma max_a' Q(s', a')",
    _q_learning(),
    "Q-learning: after a terminated step nothing follows, and its reward counts",
    _q_learning(terminated=[1, 3]),
    "Q-learning: a truncated step is no end, and is bootstrapped like any other",
    _q_learning(terminated=[1], truncated=[0, 2]),
)
CHAPTER.same(
    "sarsa_target",
    "SARSA's is r + gamma Q(s', a'), with the action a' that is taken next",
    _sarsa(),
    "SARSA: after a terminated step nothing follows, and its reward counts",
    _sarsa(terminated=[1, 3]),
    "SARSA: a truncated step is no end, and is bootstrapped like any other",
    _sarsa(terminated=[1], truncated=[0, 2]),
)
CHAPTER.constant(
    "The table and all other arguments stay as they were",
    ("q_learning_target", _q_learning(terminated=[1])),
    ("sarsa_target", _sarsa(terminated=[1])),
)
CHAPTER.trains(
    "Both take the same steps as the library's own, on the cliff and on the lake",
    {"env_id": "CliffWalking-v1", **SETTINGS},
    {"env_id": "FrozenLake-v1", **SETTINGS},
    QLearning=q_learning,
    Sarsa=sarsa,
)
