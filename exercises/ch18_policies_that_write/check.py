"""What holds of a group's advantages, and of a mean that forgets lengths."""

from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms import dr_grpo
from yieldrl.exercises.cases import Chapter

EARNED = torch.tensor([[1.0, 0, 0, 1], [7, 5, 6, 5], [0, 0, 3, 0]])
ALL = torch.ones(3, 4, dtype=torch.bool)
CUT = torch.tensor([[1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 0, 0]]).bool()
NONE = torch.tensor([[1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 1, 1]]).bool()


def _answers(*lengths: int) -> list[Any]:
    """Arguments of `by_a_constant`: answers of so many tokens, of 6 at most."""
    generator = torch.Generator().manual_seed(18)
    values = torch.randn(len(lengths), 1, 6, generator=generator)
    mask = torch.arange(6) < torch.tensor(lengths).view(-1, 1, 1)
    return [values, mask, 6]


def _steps() -> list[Any]:
    """Answers of several steps: T = 2, K = 3."""
    values, mask, longest = _answers(2, 5)
    return [values.view(2, 2, 3), mask.view(2, 2, 3), longest]


def _equal() -> list[Tensor]:
    return [torch.tensor([[1.0, 1, 1, 1], [0, 0, 0, 0]]), ALL[:2]]


SETTINGS = {"env_kwargs": {"max_operand": 5}, "d_model": 16, "num_layers": 1}
SETTINGS |= {"demonstration_steps": 32, "clone_steps": 60, "clone_batch_size": 16}
SETTINGS |= {"clone_warmup_steps": 1, "clone_learning_rate": 0.01, "num_envs": 32}
SETTINGS |= {"total_steps": 96, "num_epochs": 1, "threads": 1, "seed": 18}
CHAPTER = Chapter(__name__)
CHAPTER.same(
    "compared",
    "Where all answers to a prompt earn the same, none is better than another",
    _equal(),
    "An answer is compared with the mean of its own group, in the reward's unit",
    [EARNED, ALL],
    "What does not count has no part in the mean, and the advantage 0",
    [EARNED, CUT],
    "A group of which nothing counts teaches nothing, and is not NaN",
    [EARNED, NONE],
    named="advantage",
)
CHAPTER.same(
    "by_a_constant",
    "What was written up to the end is added up, and nothing after it",
    _answers(6, 6),
    _answers(1, 4, 6),
    "So it is where an answer has several steps",
    _steps(),
    named="share",
)
CHAPTER.gradient(
    "A token of a long answer is pushed as hard as one of a short answer",
    "by_a_constant",
    _answers(1, 4, 6),
)
CHAPTER.constant(
    "The arguments stay as they were",
    ("compared", [EARNED, CUT]),
    ("by_a_constant", _answers(1, 4, 6)),
)
CHAPTER.trains(
    "GRPO that uses both takes the same steps as the library's Dr. GRPO",
    SETTINGS,
    Algorithm=dr_grpo,
)
