"""CartPole-v1 in PyTorch, N carts at a time, by Gymnasium's equations in float32."""

from typing import Any

import torch
from torch import Tensor

GRAVITY, MASS_POLE, TOTAL_MASS, LENGTH = 9.8, 0.1, 1.1, 0.5
FORCE, TAU = 10.0, 0.02
X_LIMIT, THETA_LIMIT = 2.4, 12 * 2 * torch.pi / 360
LONGEST = 500


def moved(state: Any, right: Any, of: Any = torch) -> Any:
    """Carts `[N, 4]` a step later, pushed to the right or to the left, bool `[N]`; `of`
    is the library of these arrays."""
    x, speed, theta, turning = state.T
    force = of.where(right, FORCE, -FORCE)
    cos, sin = of.cos(theta), of.sin(theta)
    push = (force + MASS_POLE * LENGTH * turning**2 * sin) / TOTAL_MASS
    inertia = LENGTH * (4 / 3 - MASS_POLE * cos**2 / TOTAL_MASS)
    bend = (GRAVITY * sin - cos * push) / inertia
    rate = push - MASS_POLE * LENGTH * bend * cos / TOTAL_MASS
    later = (x + TAU * speed, speed + TAU * rate, theta + TAU * turning)
    return of.stack([*later, turning + TAU * bend], -1)


def fallen(state: Any) -> Any:
    """Which of the carts `[N, 4]` have failed, bool `[N]`."""
    return (abs(state[:, 0]) > X_LIMIT) | (abs(state[:, 2]) > THETA_LIMIT)


class Carts:
    """N carts: position, velocity, angle and angular velocity `[N, 4]`, and the
    episodes' ages `[N]`. An episode is cut after 500 steps."""

    def __init__(self, num_envs: int) -> None:
        self.num_envs = num_envs
        self.state = self.fresh()
        self.ages = torch.zeros(num_envs, dtype=torch.long)

    def fresh(self) -> Tensor:
        """Where episodes begin, `[N, 4]`."""
        return torch.rand(self.num_envs, 4) * 0.1 - 0.05

    def step(self, right: Tensor) -> tuple[Tensor, Tensor]:
        """Push all carts; which fell, and which ran out of time, bool `[N]` each."""
        state, ages = moved(self.state, right), self.ages + 1
        terminated = fallen(state)
        truncated = (ages >= LONGEST) & ~terminated
        ended = terminated | truncated
        self.state = torch.where(ended[:, None], self.fresh(), state)
        self.ages = torch.where(ended, 0, ages)
        return terminated, truncated
