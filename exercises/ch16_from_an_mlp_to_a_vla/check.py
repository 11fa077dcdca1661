"""What holds of the sums of a chunk."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from yieldrl.algorithms import ppo
from yieldrl.exercises.calls import flags, parts, train, variant
from yieldrl.exercises.cases import Chapter
from yieldrl.exercises.checking import Property
from yieldrl.exercises.comparing import expect, expect_close

PARTS = ("reward", "discount", "num_steps")


def _chunk(
    terminated: Sequence[int] = (), truncated: Sequence[int] = ()
) -> list[Tensor]:
    reward = torch.tensor([1.0, 3.0, 2.0, 6.0])
    return [of[:, None] for of in (reward, *flags(4, terminated, truncated))]


def _environments() -> list[Tensor]:
    generator = torch.Generator().manual_seed(16)
    reward = torch.randn(5, 7, generator=generator)
    terminated, truncated = torch.rand(2, 5, 7, generator=generator) < 0.15
    return [reward, terminated, truncated & ~terminated]


def chunk_sums(
    answer: Any, names: Sequence[str], gamma: float, *given: Tensor
) -> tuple[Any, ...]:
    """Some parts of what chunks came to."""
    sums = parts(answer.chunk_sums(*given, gamma), PARTS, "chunk_sums")
    return tuple(sums[PARTS.index(name)] for name in names)


def _same(
    says: str, *cases: tuple[Sequence[str], list[Tensor]], gamma: float = 0.5
) -> Property:
    (names, _), *_ = cases
    rows = [(of, gamma, *given) for of, given in cases]
    return CHAPTER.same(chunk_sums, says, *rows, named=names)[0]


def whole_episodes(answer: Any) -> None:
    """Chunk by chunk an episode's return is what it is step by step."""
    reward, gamma, total, weight = torch.arange(1.0, 8.0), 0.5, 0.0, 1.0
    (ended,) = flags(8, [6])  # the last chunk has a row that is another episode's
    rows = torch.cat([reward, torch.tensor([100.0])])
    for chunk in (slice(0, 4), slice(4, 8)):
        given = (rows[chunk, None], ended[chunk, None], 0 * ended[chunk, None] > 0)
        paid, discount = chunk_sums(answer, PARTS[:2], gamma, *given)
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

    def wrap_envs(trainer: Any, envs: Any) -> Any:
        return Chunks(envs, trainer.config.chunk_length, trainer.config.gamma)

    fields = {"chunk_length": 4, "num_steps": 16, "total_steps": 128, "eval_every": 0}
    trainer_class = variant(answer.Trainer, wrap_envs=wrap_envs)
    train(trainer_class(answer.config(**fields), model=ppo.Model))
    expect(bool(torch.stack(seen).any()), "no episode ended in mid-chunk")


CHAPTER = Chapter(__name__)
END = _chunk(terminated=[1])
PROPERTIES = [
    _same(
        "Within a chunk the reward r_i counts gamma^i: the first as it is",
        (("reward",), _chunk()),
    ),
    _same(
        "What comes after k steps counts gamma^k",
        (("discount", "num_steps"), _chunk()),
    ),
    _same(
        "The step that ends an episode counts, and no step after it does",
        (("reward", "num_steps"), END),
    ),
    _same(
        "After an episode that ended in mid-chunk, too, the discount is gamma^k",
        (("discount",), END),
    ),
    _same(
        "An episode that was cut is over, and what would have followed counts gamma^k",
        (("reward", "discount"), _chunk(truncated=[2])),
    ),
    _same(
        "An episode that is done stays done, whatever the rows below say",
        (("reward", "num_steps"), _chunk(terminated=[0], truncated=[2])),
        (("reward", "num_steps"), _chunk(terminated=[0, 2])),
    ),
    _same(
        "Environments side by side do not touch each other",
        (PARTS, _environments()),
        gamma=0.9,
    ),
    whole_episodes,
    CHAPTER.constant(
        "The arguments stay as they were",
        ("chunk_sums", [*_chunk(terminated=[1], truncated=[3]), 0.5]),
        in_place="the argument was changed in place: work on a copy",
    ),
    training,
]
