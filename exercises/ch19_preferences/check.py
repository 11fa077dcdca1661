"""What holds of DPO's implicit reward and of its loss."""

from typing import Any

import torch

from yieldrl.algorithms import dpo
from yieldrl.exercises.cases import Chapter

REWARD = torch.tensor([[1.0, 0.0], [-2.0, 1.0], [0.5, 0.5]])


def _answers(length: int, beta: float) -> list[Any]:
    """Arguments of `implicit_reward`: three pairs of answers of so many tokens."""
    generator = torch.Generator().manual_seed(19)
    now, before = -torch.rand(2, 3, 2, 1, length, generator=generator)
    return [now, before, beta]


def _alike() -> list[Any]:
    """A policy that is its reference."""
    now, _, beta = _answers(3, 0.5)
    return [now, now.clone(), beta]


def late_letters(obs: Any, action: torch.Tensor) -> torch.Tensor:
    """A judge whom two answers of a beginner rarely please alike."""
    return action[:, 0].float()


SETTINGS = {"env_kwargs": {"max_operand": 2}, "num_envs": 16, "clone_steps": 2}
SETTINGS |= {"demonstration_steps": 16, "total_steps": 32, "num_epochs": 2}
SETTINGS |= {"pairs_per_step": 4, "judge": f"{__name__}:late_letters", "seed": 19}
CHAPTER = Chapter(__name__)
CHAPTER.same(
    "implicit_reward",
    "A policy that is its reference rewards nothing",
    _alike(),
    "An answer of one token is rewarded by beta times its log-ratio",
    _answers(1, 0.5),
    "An answer of several tokens by that of all of them together",
    _answers(4, 2.0),
    named="reward",
)
CHAPTER.same(
    "preference_loss",
    "Rewards that are equal give a loss of log 2",
    [torch.ones(2, 2)],
    "The loss is the mean of -log sigmoid(better - worse)",
    [REWARD],
    named="loss",
)
CHAPTER.gradient(
    "A pair that is wrong pulls harder than one that is right",
    "preference_loss",
    [REWARD],
)
CHAPTER.constant(
    "The reference is a constant, and the arguments stay as they were",
    ("implicit_reward", _answers(4, 2.0)),
    ("preference_loss", [REWARD]),
)
CHAPTER.trains(
    "DPO that uses both takes the same steps as the library's own",
    SETTINGS,
    Algorithm=dpo,
)
