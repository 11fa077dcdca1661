"""How many updates it takes to learn from rare memories: DQN beside prioritized replay.

The experiment of Schaul et al. 2016, arXiv:1511.05952, figure 1: the memory holds every
way through the blind cliffwalk, and one of its transitions has a reward. Nothing is
explored, so replay alone makes the difference.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from .worlds import Cliffwalk

ALGORITHMS = ("dqn", "prioritized_dqn")
LENGTH = 10
LEARNED = 1e-3
"""Mean squared error at which the values count as learned."""

UPDATES = 3_000
LOOK_EVERY = 50


def in_cliffwalk(seed: int) -> dict[str, Any]:
    """The error of the values along the updates.

    Args:
        seed: The seed of everything.

    Returns:
        Of each algorithm the line "NAME", and "updates of NAME" until its values are
        learned (`UPDATES` if they are not).
    """
    measured: dict[str, Any] = {}
    for name in ALGORITHMS:
        line = _errors(name, seed)
        learned = [update for update, error in line if error < LEARNED]
        measured |= {name: line, f"updates of {name}": (learned or [UPDATES])[0]}
    return measured


def all_ways(env: Cliffwalk) -> Iterator[Mapping[str, np.ndarray]]:
    """The transitions of all `2^length` sequences of actions, each until it ends."""
    length = len(env.onward)
    for sequence in range(2**length):
        obs, _ = env.reset()
        for step in range(length):
            action = sequence >> step & 1
            next_obs, reward, terminated, truncated, _ = env.step(action)
            yield {
                "obs": np.array([obs]),
                "action": np.array([action]),
                "reward": np.array([reward]),
                "next_obs": np.array([next_obs]),
                "terminated": np.array([terminated]),
                "truncated": np.array([truncated]),
            }
            if terminated:
                break
            obs = next_obs


def true_values(env: Cliffwalk, gamma: float) -> torch.Tensor:
    """`Q*`, `[S, A]`: a wrong action is worth nothing, a right one what lies ahead."""
    length = len(env.onward)
    values = torch.zeros(length, 2)
    values[torch.arange(length), torch.from_numpy(env.onward)] = gamma ** torch.arange(
        length - 1, -1, -1
    )
    return values


def _errors(name: str, seed: int) -> list[list[float]]:
    """Learn from a memory that is full already; points of update and error."""
    algorithm = importlib.import_module(f"yieldrl.algorithms.{name}")
    env, gamma = Cliffwalk(LENGTH), 1 - 1 / LENGTH
    config = algorithm.Config(
        gamma=gamma,
        tau=0.01,
        batch_size=32,
        buffer_size=2 ** (LENGTH + 1),
        seed=seed,
        eval_every=0,
        device="cpu",
    )
    line: list[list[float]] = []
    with algorithm.Trainer(config, envs=lambda: env) as trainer:
        for transition in all_ways(env):
            trainer.buffer.add(transition)
        states, truth = torch.arange(LENGTH), true_values(env, gamma)
        while trainer.agent.learn_step < UPDATES:
            trainer._run_train()
            if trainer.agent.learn_step % LOOK_EVERY == 0:
                with torch.no_grad():
                    error = (trainer.model.value(states) - truth).square().mean()
                line.append([trainer.agent.learn_step, float(error)])
    return line
