"""One episode, played and added up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium

from yieldrl.algorithms import q_learning

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


def mean_return(env: gymnasium.Env[Any, Any], policy: Policy, episodes: int) -> float:
    """The mean return of so many episodes."""
    return sum(play(env, policy, seed)[0] for seed in range(episodes)) / episodes


def train() -> q_learning.Trainer:
    """A trainer that has run to its end, on the frozen lake."""
    config = q_learning.Config(num_envs=8, total_steps=30_000, eval_every=0)
    trainer = q_learning.Trainer(config)
    for _ in trainer():
        pass
    return trainer


if __name__ == "__main__":
    env = gymnasium.make("FrozenLake-v1")
    env.action_space.seed(1)
    print("random", mean_return(env, lambda obs: env.action_space.sample(), 500))
    agent = train().agent
    print("trained", mean_return(env, lambda obs: int(agent.predict(obs)), 500))
