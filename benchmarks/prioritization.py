"""How many updates it takes to learn from rare memories: DQN beside prioritized replay.

The experiment of Schaul et al. 2016, arXiv:1511.05952, figure 1: the memory holds every
way through the blind cliffwalk, and one of its transitions has a reward. Nothing is
explored, so replay alone makes the difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from .memories import Transition, errors, transition
from .worlds import Cliffwalk

ALGORITHMS = ("dqn", "prioritized_dqn")
LENGTH = 10
LEARNED = 1e-3
"""Mean squared error at which the values count as learned."""

UPDATES = 3_000


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


def all_ways(env: Cliffwalk) -> Iterator[Transition]:
    """The transitions of all `2^length` sequences of actions, each until it ends."""
    length = len(env.onward)
    for sequence in range(2**length):
        obs, _ = env.reset()
        for step in range(length):
            action = sequence >> step & 1
            taken = env.step(action)
            yield transition(obs, action, taken)
            obs, _, terminated, *_ = taken
            if terminated:
                break


def true_values(env: Cliffwalk, gamma: float) -> torch.Tensor:
    """`Q*`, `[S, A]`: of a right action `gamma^(steps to the reward - 1)`, else 0."""
    length = len(env.onward)
    values = torch.zeros(length, 2)
    values[torch.arange(length), torch.from_numpy(env.onward)] = gamma ** torch.arange(
        length - 1, -1, -1
    )
    return values


def _errors(name: str, seed: int) -> list[tuple[int, float]]:
    env, gamma = Cliffwalk(LENGTH), 1 - 1 / LENGTH
    return errors(
        name,
        env,
        all_ways(env),
        true_values(env, gamma),
        gamma=gamma,
        buffer_size=2 ** (LENGTH + 1),
        updates=UPDATES,
        seed=seed,
    )
