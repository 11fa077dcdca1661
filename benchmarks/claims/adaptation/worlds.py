"""The worlds of hidden parameters, and what all sides of a claim share.

They begin from the settings of `ppo-cartpole`, `ppo-pendulum-tuned` and
`ppo-halfcheetah` in tasks.yaml, with more environments at a time and larger
minibatches. Heavy and long pendulums need more swings than the usual one: gamma is
0.95 instead of 0.9, which looks twice as far ahead.
"""

from typing import Any, NamedTuple

# sides of `HiddenParameters`: parameters as in training, and others
RANGES = ("training", "held_out")


class World(NamedTuple):
    """A world, and the fields of `ppo.Config` that all sides of a claim share."""

    env_id: str
    settings: dict[str, Any]


def world(name: str, **fields: Any) -> World:
    shared = {"eval_every": 0, "device": "cpu", "threads": 1, "num_steps": 32}
    return World(f"yieldrl/{name}-v1", {**shared, **fields})


WORLDS = {
    "cartpole": world(
        "HiddenCartPole",
        total_steps=1_500_000,
        num_envs=64,
        num_epochs=4,
        num_minibatches=4,
    ),
    "pendulum": world(
        "HiddenPendulum",
        total_steps=500_000,
        num_envs=128,
        num_epochs=10,
        num_minibatches=8,
        gamma=0.95,
        entropy_coef=0.0,
        normalize_observation=True,
    ),
    "halfcheetah": world(
        "HiddenHalfCheetah",
        total_steps=2_000_000,
        num_envs=256,
        num_epochs=5,
        num_minibatches=16,
        learning_rate=0.0005,
        entropy_coef=0.0,
        normalize_observation=True,
    ),
}
