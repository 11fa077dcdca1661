"""What holds of the sums of a chunk."""

from collections.abc import Sequence
from typing import Any

import torch

from yieldrl.exercises.cases import Chapter, flags

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


CHAPTER = Chapter(__name__)
CHAPTER.same(
    "chunk_sums",
    "Within a chunk the reward r_i counts gamma^i: the first as it is",
    {R},
    _chunk(),
    "What comes after k steps counts gamma^k",
    {D, K},
    _chunk(),
    "The step that ends an episode counts, and no step after it does",
    {R, K},
    _chunk(terminated=[1]),
    "After an episode that ended in mid-chunk, too, the discount is gamma^k",
    {D},
    _chunk(terminated=[1]),
    "An episode that was cut is over, and what would have followed counts gamma^k",
    {R, D},
    _chunk(truncated=[2]),
    "An episode that is done stays done, whatever the rows below say",
    {R, K},
    _chunk(terminated=[0], truncated=[2]),
    _chunk(terminated=[0, 2]),
    "Environments side by side do not touch each other",
    _environments(),
    named=PARTS,
)
CHAPTER.constant(
    "The arguments stay as they were",
    ("chunk_sums", _chunk(terminated=[1], truncated=[3])),
)
