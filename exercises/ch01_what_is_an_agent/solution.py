"""One episode, played and added up."""

from collections.abc import Callable
from typing import Any

import gymnasium

Policy = Callable[[Any], Any]


def play(
    env: gymnasium.Env[Any, Any], policy: Policy, seed: int | None = None
) -> tuple[float, int]:
    """Play one episode; its return, without a discount, and its length in steps."""
    obs, _ = env.reset(seed=seed)
    total, length, over = 0.0, 0, False
    while not over:
        obs, reward, terminated, truncated, _ = env.step(policy(obs))
        total += float(reward)
        length += 1
        over = terminated or truncated
    return total, length
