"""What holds of the sums of a chunk."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch
from gymnasium.vector import VectorEnv

from yieldrl.algorithms import ppo
from yieldrl.envs.wrappers import ActionChunks
from yieldrl.exercises.cases import Chapter, flags
from yieldrl.exercises.comparing import expect_close

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


class Trainer(ppo.Trainer):
    """PPO that chooses two actions at a time, with the library's own sums."""

    def wrap_envs(self, envs: VectorEnv, training: bool) -> VectorEnv:
        """Environments that take chunks."""
        return ActionChunks(envs, 2, gamma=self.config.gamma)


SETTINGS = {"env_id": "yieldrl/CartPole-v1", "total_steps": 128, "num_steps": 16}
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
CHAPTER.holds(whole_episodes)
CHAPTER.constant(
    "The arguments stay as they were",
    ("chunk_sums", _chunk(terminated=[1], truncated=[3])),
)
CHAPTER.trains(
    "PPO that uses it collects chunks with the library's own sums",
    SETTINGS,
    Trainer=SimpleNamespace(Config=ppo.Config, Trainer=Trainer),
)
