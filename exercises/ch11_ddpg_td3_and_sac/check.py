"""What holds of the targets of TD3 and SAC."""

from collections.abc import Sequence
from typing import Any

import torch

from yieldrl.algorithms import sac, td3
from yieldrl.exercises.cases import Chapter, flags

ACTION = torch.tensor([[0.1, -0.9], [0.8, 0.0], [-0.2, 0.6]])
NOISE = torch.tensor([[0.1, -0.2], [0.7, -0.9], [0.4, -0.3]])
# arguments of `squashed_log_prob`: u, mean and log std
NORMALS = torch.tensor(
    [[0.3, -1.2, 0.9, 2.0], [0.5, -1.0, 0.0, 1.4], [-0.7, 0.4, -0.2, 0.1]]
).unsqueeze(2)
SEVERAL = torch.randn(3, 5, 3, generator=torch.Generator().manual_seed(11))
SEVERAL[2] *= 0.5
LARGE = torch.tensor([[2.0], [7.0], [-12.0], [20.0]])


def _steps(
    terminated: Sequence[int] = (), truncated: Sequence[int] = (), alpha: float = 0.5
) -> list[Any]:
    """Arguments of `td_target`: four transitions, and two critics."""
    reward, log_prob = torch.tensor([[0.5, -1.0, 2.0, 1.0], [-0.7, 1.3, 0.4, -2.0]])
    next_value = torch.tensor([[3.0, 8.0, -2.0, 6.0], [5.0, 4.0, -1.0, 7.0]])
    ends = flags(4, terminated, truncated)
    return [reward, next_value, log_prob, *ends, 0.9, torch.tensor(alpha)]


SETTINGS = {"env_kwargs": {"max_episode_steps": 10}, "num_envs": 4, "batch_size": 32}
SETTINGS |= {"total_steps": 128, "learning_starts": 96, "hidden_sizes": (32, 32)}
CHAPTER = Chapter(__name__)
CHAPTER.same(
    "smoothed_action",
    "The target action has noise of at most noise_clip, and stays in [-1, 1]",
    (ACTION, NOISE, 0.5),
    named="action",
)
CHAPTER.same(
    "squashed_log_prob",
    "The density of tanh(u) is the normal's, divided by the slope of tanh at u",
    tuple(NORMALS),
    "The logarithms of several dimensions are added up, [B, D] to [B]",
    tuple(SEVERAL),
    "It is right for u = 20 as well, where tanh(u) rounds to 1",
    (LARGE, LARGE - 0.5, torch.zeros(4, 1)),
    named="log_prob",
)
CHAPTER.same(
    "td_target",
    "Without entropy the target is r + gamma min_i Q_i(s', a')",
    _steps(alpha=0.0),
    "With it, the future is worth alpha log pi(a'|s') less",
    _steps(),
    "After a terminated step neither value nor entropy follows",
    _steps(terminated=[1, 3]),
    "A truncated step is no end, and is bootstrapped like any other",
    _steps(terminated=[1], truncated=[0, 2]),
)
CHAPTER.constant(
    "A target is a constant to the loss, and the arguments stay as they were",
    ("td_target", _steps(terminated=[1])),
    of=[2, 6],
    hint="detach it: a critic follows its target, never the other way round",
)
CHAPTER.trains(
    "TD3 and SAC that use it take the same steps as the library's own",
    {**SETTINGS, "seed": 11},
    TD3=td3,
    SAC=sac,
)
