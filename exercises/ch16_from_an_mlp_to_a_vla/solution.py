"""PPO on chunks of actions, with what a chunk came to written out."""

import torch
from torch import Tensor


def chunk_sums(
    reward: Tensor, terminated: Tensor, truncated: Tensor, gamma: float
) -> tuple[Tensor, Tensor, Tensor]:
    """What chunks came to: their reward, discount and number of steps, `[N]` each."""
    total, discount = torch.zeros_like(reward[0]), torch.ones_like(reward[0])
    num_steps = torch.zeros_like(terminated[0], dtype=torch.int64)
    running = torch.ones_like(terminated[0])
    for row, ended in zip(reward, terminated | truncated, strict=True):
        total = total + (discount * row).where(running, 0.0)
        discount = (gamma * discount).where(running, discount)
        num_steps = num_steps + running
        running = running & ~ended
    return total, discount, num_steps
