"""Learning from a memory that is full already: how fast do the values become right?"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import torch

Transition = Mapping[str, np.ndarray]

LOOK_EVERY = 50
"""Updates between two looks at the error."""


def transition(obs: int, action: int, step: tuple[Any, ...]) -> Transition:
    """What a replay buffer takes of one environment's step."""
    next_obs, reward, terminated, truncated, _ = step
    return {
        "obs": np.array([obs]),
        "action": np.array([action]),
        "reward": np.array([reward]),
        "next_obs": np.array([next_obs]),
        "terminated": np.array([terminated]),
        "truncated": np.array([truncated]),
    }


def errors(
    name: str,
    env: gym.Env[int, int],
    memory: Iterable[Transition],
    truth: torch.Tensor,
    *,
    gamma: float,
    buffer_size: int,
    updates: int,
    seed: int,
) -> list[tuple[int, float]]:
    """Learn from the memory alone; pairs of update and mean squared error.

    Args:
        name: Of DQN or a variant, the folder below `algorithms`.
        env: Says the spaces.
        memory: What the replay buffer holds.
        truth: `Q*`, `[S, A]`.
        gamma: Discount.
        buffer_size: Transitions that the buffer has room for.
        updates: How many.
        seed: The seed of everything.
    """
    algorithm = importlib.import_module(f"yieldrl.algorithms.{name}")
    config = algorithm.Config(
        gamma=gamma,
        tau=0.01,
        batch_size=32,
        buffer_size=buffer_size,
        seed=seed,
        eval_every=0,
        device="cpu",
    )
    line: list[tuple[int, float]] = []
    with algorithm.Trainer(config, envs=lambda: env) as trainer:
        for one in memory:
            trainer.buffer.add(one)
        states = torch.arange(len(truth))
        while trainer.agent.learn_step < updates:
            trainer._run_train()
            if trainer.agent.learn_step % LOOK_EVERY == 0:
                with torch.no_grad():
                    error = (trainer.model.value(states) - truth).square().mean()
                line.append((trainer.agent.learn_step, float(error)))
    return line
