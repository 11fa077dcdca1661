"""What holds of the sums of a chunk."""

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms import ppo
from yieldrl.exercises.cases import Chapter, flags
from yieldrl.exercises.comparing import expect, expect_close
from yieldrl.exercises.training import logged, variant

PARTS = ("reward", "discount", "num_steps")


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
    reward, gamma, total, weight = torch.arange(1.0, 8.0), 0.5, 0.0, 1.0
    (ended,) = flags(8, [6])  # the last chunk has a row that is another episode's
    rows = torch.cat([reward, torch.tensor([100.0])])
    for chunk in (slice(0, 4), slice(4, 8)):
        given = (rows[chunk, None], ended[chunk, None], 0 * ended[chunk, None] > 0)
        paid, discount, _ = answer.chunk_sums(*given, gamma)
        total += weight * float(paid)
        weight *= float(discount)
    want = float((gamma ** torch.arange(7) * reward).sum())
    expect_close(total, want, named="R_1 + gamma^4 R_2")
    expect_close(weight, gamma**7, named="both discounts together")


def training(answer: Any) -> None:
    """PPO that uses it collects chunks with the library's own sums."""
    seen: list[Tensor] = []

    class Chunks(answer.Chunks):
        def advance(self, actions: Any) -> Any:
            step, steps = super().advance(actions), self.noted.steps
            columns = ("reward", "terminated", "truncated")
            rows = [torch.stack([getattr(of, k) for of in steps]) for k in columns]
            sums = CHAPTER.solution.right.chunk_sums(*rows, self.gamma)
            for name, want in zip(PARTS, sums, strict=True):
                expect_close(step.info[name], want, named=name)
            seen.append(step.ended & (sums[2] < self.length))
            return step

    def wrap_envs(trainer: Any, envs: Any, training: bool) -> Any:
        return Chunks(envs, trainer.config.chunk_length, trainer.config.gamma)

    fields = {"chunk_length": 4, "num_steps": 16, "total_steps": 128, "eval_every": 0}
    trainer_class = variant(answer.Trainer, wrap_envs=wrap_envs)
    logged(trainer_class(answer.config(**fields), model=ppo.Model))
    expect(bool(torch.stack(seen).any()), "no episode ended in mid-chunk")


CHAPTER = Chapter(__name__)
same = functools.partial(CHAPTER.same, "chunk_sums", named=PARTS)
same(
    "Within a chunk the reward r_i counts gamma^i: the first as it is",
    _chunk(),
    only="reward",
)
same(
    "What comes after k steps counts gamma^k", _chunk(), only=("discount", "num_steps")
)
same(
    "The step that ends an episode counts, and no step after it does",
    _chunk(terminated=[1]),
    only=("reward", "num_steps"),
)
same(
    "After an episode that ended in mid-chunk, too, the discount is gamma^k",
    _chunk(terminated=[1]),
    only="discount",
)
same(
    "An episode that was cut is over, and what would have followed counts gamma^k",
    _chunk(truncated=[2]),
    only=("reward", "discount"),
)
same(
    "An episode that is done stays done, whatever the rows below say",
    _chunk(terminated=[0], truncated=[2]),
    _chunk(terminated=[0, 2]),
    only=("reward", "num_steps"),
)
same("Environments side by side do not touch each other", _environments())
CHAPTER.holds(whole_episodes)
CHAPTER.constant(
    "The arguments stay as they were",
    ("chunk_sums", _chunk(terminated=[1], truncated=[3])),
)
CHAPTER.holds(training)
