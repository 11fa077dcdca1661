"""What holds of the returns and the loss of REINFORCE."""

from typing import Any

import torch

from yieldrl.algorithms import reinforce
from yieldrl.exercises.cases import Chapter

GAMMA = 0.8
LOGITS = torch.tensor([[1.0, 0, 2], [0, 1, -1], [2, 1, 0], [-1, 0, 3]])
# arguments of `policy_loss`: logits, actions, returns and baselines of four steps
BATCH = (LOGITS, *map(torch.tensor, ([2, 0, 1, 1], [3.0, 1, 4, 2], [1.0, 2, 1, 2.5])))


def _walk(gamma: float, *ended: tuple[int, int]) -> list[Any]:
    """Arguments of `returns_to_go`: six steps of two environments."""
    reward = torch.tensor([1.0, 0, 2, 0, 4, 3, 5, 7, 1, 6, 2, 8]).view(2, 6).T
    ends = torch.tensor([[(t, n) in ended for n in range(2)] for t in range(6)])
    return [reward.contiguous(), ends, gamma]


SETTINGS = {"num_envs": 2, "num_episodes": 4, "total_steps": 400, "baseline": "mean"}
CHAPTER = Chapter(__name__)
CHAPTER.same(
    "returns_to_go",
    "Without a discount a return is the sum of all rewards from its step on",
    _walk(1.0),
    "A reward that comes k steps later counts gamma ** k times as much",
    _walk(GAMMA),
    "Where an episode ends the sum stops, and the next one starts from nothing",
    _walk(GAMMA, (2, 0)),
    "Environments side by side end when they like, and do not touch each other",
    _walk(GAMMA, (0, 1), (1, 0), (3, 1), (4, 0)),
    named="returns",
)
CHAPTER.same(
    "policy_loss",
    "The loss is the mean of -(G - b) log pi(a | s) over the batch",
    BATCH,
    named="loss",
)
CHAPTER.gradient(
    "Its gradient raises what returned more than expected, and lowers the others",
    "policy_loss",
    BATCH,
)
CHAPTER.constant(
    "The baseline is a constant to the loss, and the arguments stay as they were",
    ("policy_loss", BATCH),
    ("returns_to_go", _walk(GAMMA, (2, 0))),
    of=[3],
    hint="detach the baseline: this loss would train it, and not to predict returns",
)
CHAPTER.trains(
    "REINFORCE that uses both takes the same steps as the library's own",
    {**SETTINGS, "seed": 8},
    Algorithm=reinforce,
)
