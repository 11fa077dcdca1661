"""The worlds of hidden parameters, and how PPO learns in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

RANGES = ("training", "held_out")
"""Sides of `HiddenParameters`: parameters as in training, and others."""


@dataclass(frozen=True)
class World:
    """A world, and the settings that all sides of a trial share."""

    env_id: str

    settings: Mapping[str, Any]
    """Fields of `ppo.Config` that every side has, the budget among them."""


COMMON: dict[str, Any] = {"eval_every": 0, "device": "cpu", "threads": 1}

WORLDS = {
    "cartpole": World(
        "yieldrl/HiddenCartPole-v1",
        COMMON
        | {
            "total_steps": 1_500_000,
            "num_envs": 64,
            "num_steps": 32,
            "num_epochs": 4,
            "num_minibatches": 4,
        },
    ),
    "pendulum": World(
        "yieldrl/HiddenPendulum-v1",
        COMMON
        | {
            "total_steps": 500_000,
            "num_envs": 128,
            "num_steps": 32,
            "num_epochs": 10,
            "num_minibatches": 8,
            "gamma": 0.95,
            "entropy_coef": 0.0,
            "normalize_observation": True,
        },
    ),
    "halfcheetah": World(
        "yieldrl/HiddenHalfCheetah-v1",
        COMMON
        | {
            "total_steps": 2_000_000,
            "num_envs": 256,
            "num_steps": 32,
            "num_epochs": 5,
            "num_minibatches": 16,
            "learning_rate": 5e-4,
            "entropy_coef": 0.0,
            "normalize_observation": True,
        },
    ),
}
"""Trial -> its world; all else is the algorithms' defaults.

They begin from the settings of `ppo-cartpole`, `ppo-pendulum-tuned` and
`ppo-halfcheetah` in `learning`, with more environments at a time and larger
minibatches. Heavy and long pendulums need more swings than the usual one: gamma is 0.95
for 0.9, which looks twice as far ahead.
"""
