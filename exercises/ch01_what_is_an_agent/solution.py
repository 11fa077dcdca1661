"""Chapter 1, what is an agent."""

from collections.abc import Callable
from typing import Any

import gymnasium

Policy = Callable[[Any], Any]


def play(
    env: gymnasium.Env[Any, Any], policy: Policy, seed: int | None = None
) -> tuple[float, int]:
    """Play one episode; its return, without a discount, and its length in steps.

    Args:
        env: A world in which any episode may be under way, or none.
        policy: Observation -> action.
        seed: For the world's chance in this episode; None goes on where it was.

    Returns:
        The sum of all rewards, and how many steps were taken.
    """
    total, length = 0.0, 0
    # The gap. A line before a loop, and four or five in it, are enough:
    #   env.reset(seed=seed)    gives the first observation, and a dictionary
    #   policy(obs)             gives an action for an observation
    #   env.step(action)        gives the next observation, a reward, two flags of which
    #                           either ends the episode, and a dictionary
    # gap: reset, then step until the episode is over
    obs, _ = env.reset(seed=seed)
    over = False
    while not over:
        obs, reward, terminated, truncated, _ = env.step(policy(obs))
        total += float(reward)
        length += 1
        over = terminated or truncated
    # end
    return total, length
