"""Evaluation: whole episodes, deterministic actions, every episode counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv
from torch import Tensor

from yieldrl.collectors.stepping import Stepper

MAX_EPISODE_STEPS = 200_000


@dataclass(frozen=True)
class Evaluation:
    """Returns and lengths of all evaluation episodes, `[episodes]` each."""

    returns: np.ndarray
    lengths: np.ndarray

    def logs(self) -> dict[str, float]:
        """Mean return, its spread and extremes, mean length, number of episodes."""
        return {
            "episode_return": float(self.returns.mean()),
            "episode_return_std": float(self.returns.std()),
            "episode_return_min": float(self.returns.min()),
            "episode_return_max": float(self.returns.max()),
            "episode_length": float(self.lengths.mean()),
            "episodes": float(len(self.returns)),
        }


def evaluate(
    agent: Any, envs: VectorEnv[Any, Any, Any], episodes: int, seed: int
) -> Evaluation:
    """Play `episodes` whole episodes with `agent.predict`.

    Environment `i` plays a number of episodes that is fixed beforehand. Counting the
    first ones that end, wherever they end, would favour short episodes.

    Args:
        agent: Anything with `predict(obs) -> action`; if it `has_memory`, its
            `begin_episode` is called with where episodes begin.
        envs: A vector environment in any autoreset mode; it is reset with `seed`.
        episodes: How many episodes to play, at least 1.
        seed: Seed of the environments.

    Raises:
        ValueError: If `episodes` is less than 1.
        RuntimeError: If an episode does not end within 200 000 steps.
    """
    if episodes < 1:
        raise ValueError(f"episodes = {episodes}: play at least one")
    count = envs.num_envs
    quota = episodes // count + (np.arange(count) < episodes % count)
    returns: list[list[float]] = [[] for _ in range(count)]
    lengths: list[list[int]] = [[] for _ in range(count)]
    running, length = np.zeros(count), np.zeros(count, dtype=np.int64)
    stepper = Stepper(envs)
    obs = stepper.reset(seed)
    has_memory = getattr(agent, "has_memory", False)
    if has_memory:
        agent.begin_episode()
    while any(len(done) < wanted for done, wanted in zip(returns, quota, strict=True)):
        step = stepper.step(agent.predict(obs))
        obs = step.obs
        if has_memory:
            agent.begin_episode(step.begins)
        running += _array(step.reward)
        length += 1 if step.valid is None else _array(step.valid)
        ended = _array(step.terminated) | _array(step.truncated)
        for i in np.flatnonzero(ended):
            if len(returns[i]) < quota[i]:
                returns[i].append(float(running[i]))
                lengths[i].append(int(length[i]))
            running[i] = length[i] = 0
        if length.max() > MAX_EPISODE_STEPS:
            raise RuntimeError(
                f"an evaluation episode did not end in {MAX_EPISODE_STEPS:,} steps:"
                " give the environment a time limit, max_episode_steps say"
            )
    flat_returns = [value for done in returns for value in done]
    flat_lengths = [value for done in lengths for value in done]
    return Evaluation(np.array(flat_returns), np.array(flat_lengths))


def _array(values: Any) -> np.ndarray:
    return values.cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
