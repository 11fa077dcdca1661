"""How fast values are learned where most actions do nothing: DQN beside dueling DQN.

After the experiment of Wang et al. 2016, arXiv:1511.06581, section 4.1: a corridor with
actions that lead nowhere. The memory holds every action of every room, so nothing is
explored. Differs from the paper: it is control, not the evaluation of a policy, and
both learn from replayed transitions.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from .worlds import Corridor

ALGORITHMS = ("dqn", "dueling_dqn")
LENGTH, IDLE = 10, 18
GAMMA = 1 - 1 / LENGTH
UPDATES, JUDGED_AT, LOOK_EVERY = 2_000, 1_000, 50


def in_corridor(seed: int) -> dict[str, Any]:
    """The error of the values along the updates.

    Args:
        seed: The seed of everything.

    Returns:
        Of each algorithm the line "NAME", and "error of NAME" halfway.
    """
    measured: dict[str, Any] = {}
    for name in ALGORITHMS:
        line = _errors(name, seed)
        measured |= {name: line, f"error of {name}": dict(line)[JUDGED_AT]}
    return measured


def all_steps(env: Corridor) -> Iterator[Mapping[str, np.ndarray]]:
    """The transition of every action in every room."""
    for room in range(len(env.onward)):
        for action in range(env.num_actions):
            env.room = room
            next_obs, reward, terminated, truncated, _ = env.step(action)
            yield {
                "obs": np.array([room]),
                "action": np.array([action]),
                "reward": np.array([reward]),
                "next_obs": np.array([next_obs]),
                "terminated": np.array([terminated]),
                "truncated": np.array([truncated]),
            }


def true_values(env: Corridor, gamma: float) -> torch.Tensor:
    """`Q*`, `[S, A]`: the reward is as many steps away as there are rooms before it."""
    rooms = torch.arange(len(env.onward))
    onward = torch.from_numpy(env.onward)
    best = gamma ** (len(rooms) - 1 - rooms)
    values = (gamma * best).unsqueeze(1).repeat(1, env.num_actions)
    values[rooms, 1 - onward] = gamma * best[(rooms - 1).clamp(min=0)]
    values[rooms, onward] = best
    return values


def _errors(name: str, seed: int) -> list[tuple[int, float]]:
    """Learn from a memory that is full already; pairs of update and squared error."""
    algorithm = importlib.import_module(f"yieldrl.algorithms.{name}")
    env = Corridor(LENGTH, idle=IDLE)
    config = algorithm.Config(
        gamma=GAMMA,
        tau=0.01,
        batch_size=32,
        buffer_size=LENGTH * (2 + IDLE),
        seed=seed,
        eval_every=0,
        device="cpu",
    )
    line: list[tuple[int, float]] = []
    with algorithm.Trainer(config, envs=lambda: env) as trainer:
        for transition in all_steps(env):
            trainer.buffer.add(transition)
        states, truth = torch.arange(LENGTH), true_values(env, GAMMA)
        while trainer.agent.learn_step < UPDATES:
            trainer._run_train()
            if trainer.agent.learn_step % LOOK_EVERY == 0:
                with torch.no_grad():
                    error = (trainer.model.value(states) - truth).square().mean()
                line.append((trainer.agent.learn_step, float(error)))
    return line
