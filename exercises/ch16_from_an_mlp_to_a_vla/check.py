"""What holds of the sums of a chunk."""

from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import torch

from yieldrl.algorithms import ppo
from yieldrl.exercises.cases import Chapter, flags
from yieldrl.exercises.comparing import expect, expect_close
from yieldrl.exercises.training import logged

PARTS = R, D, K = "reward", "discount", "num_steps"


def _chunk(terminated: Sequence[int] = (), truncated: Sequence[int] = ()) -> list[Any]:
    """Arguments of `chunk_sums`: four steps of one environment."""
    reward = torch.tensor([1.0, 3.0, 2.0, 6.0])
    return [*(of[:, None] for of in (reward, *flags(4, terminated, truncated))), 0.5]


def _environments() -> list[Any]:
    """Arguments of `chunk_sums`: five steps of seven environments."""
    generator = torch.Generator().manual_seed(16)
    reward = torch.randn(5, 7, generator=generator)
    terminated, truncated = torch.rand(2, 5, 7, generator=generator) < 0.15
    return [reward, terminated, truncated & ~terminated, 0.9]


def whole_episodes(answer: Any) -> None:
    """Chunk by chunk an episode's return is what it is step by step."""
    reward, gamma, total, weight = torch.arange(1.0, 9.0), 0.5, 0.0, 1.0
    reward[7] = 100.0  # the last row is another episode's
    rows = [of[:, None].split(4) for of in (reward, *flags(8, [6], []))]
    for chunk in zip(*rows, strict=True):
        paid, discount, _ = answer.chunk_sums(*chunk, gamma)
        total += weight * float(paid)
        weight *= float(discount)
    want = float((gamma ** torch.arange(7) * reward[:7]).sum())
    expect_close(total, want, named="R_1 + gamma^4 R_2")
    expect_close(weight, gamma**7, named="both discounts together")


def training(answer: Any) -> None:
    """PPO that uses it collects chunks with the library's own sums."""
    own, seen = answer.chunk_sums, []

    def compared(*given: Any) -> Any:
        got, want = own(*given), CHAPTER.solution.right.chunk_sums(*given)
        for name, mine, right in zip(PARTS, got, want, strict=True):
            expect_close(mine, right, named=name)
        seen.append((want[2] < 4).any())
        return got

    fields = {"chunk_length": 4, "num_steps": 16, "total_steps": 128, "eval_every": 0}
    with patch.object(answer, "chunk_sums", compared):
        logged(answer.Trainer(answer.config(**fields), model=ppo.Model))
    expect(any(seen), "no episode ended in mid-chunk")


CHAPTER = Chapter(__name__)
for says, only, *cases in (
    ("Within a chunk the reward r_i counts gamma^i: the first as it is", R, _chunk()),
    ("What comes after k steps counts gamma^k", (D, K), _chunk()),
    (
        "The step that ends an episode counts, and no step after it does",
        (R, K),
        _chunk(terminated=[1]),
    ),
    (
        "After an episode that ended in mid-chunk, too, the discount is gamma^k",
        D,
        _chunk(terminated=[1]),
    ),
    (
        "An episode that was cut is over, and what would have followed counts gamma^k",
        (R, D),
        _chunk(truncated=[2]),
    ),
    (
        "An episode that is done stays done, whatever the rows below say",
        (R, K),
        _chunk(terminated=[0], truncated=[2]),
        _chunk(terminated=[0, 2]),
    ),
    ("Environments side by side do not touch each other", PARTS, _environments()),
):
    CHAPTER.same("chunk_sums", says, *cases, named=PARTS, only=only)
CHAPTER.holds(whole_episodes)
CHAPTER.constant(
    "The arguments stay as they were",
    ("chunk_sums", _chunk(terminated=[1], truncated=[3])),
)
CHAPTER.holds(training)
