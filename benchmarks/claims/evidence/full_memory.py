"""Learning from a memory that is full already: how fast do the values become right?"""

import importlib
from collections.abc import Iterable, Mapping
from typing import Any

import gymnasium as gym
import numpy as np
import torch

Transition = Mapping[str, np.ndarray]
LOOK_EVERY = 50  # updates


def transition(obs: int, action: int, step: tuple[Any, ...]) -> Transition:
    """One environment's step as a replay buffer takes it."""
    next_obs, reward, terminated, truncated, _ = step
    entries = {"obs": obs, "action": action, "reward": reward, "next_obs": next_obs}
    entries |= {"terminated": terminated, "truncated": truncated}
    return {name: np.array([value]) for name, value in entries.items()}


def errors(
    name: str,
    env: gym.Env[int, int],
    memory: Iterable[Transition],
    truth: torch.Tensor,
    *,
    updates: int,
    **fields: Any,
) -> list[tuple[int, float]]:
    """Learn from the memory alone: pairs of update and mean squared error to `Q*` `[S,
    A]`."""
    algorithm = importlib.import_module(f"yieldrl.algorithms.{name}")
    fields |= {"tau": 0.01, "batch_size": 32, "eval_every": 0, "device": "cpu"}
    line: list[tuple[int, float]] = []
    with algorithm.Trainer(algorithm.Config(**fields), envs=lambda: env) as trainer:
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
