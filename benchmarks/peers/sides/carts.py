"""CartPole-v1, N carts at a time, by Gymnasium's equations."""

from typing import Any

import torch

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
