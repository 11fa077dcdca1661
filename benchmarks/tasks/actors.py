"""Tasks of the actors with critics off the policy: DDPG, TD3 and SAC."""

from __future__ import annotations

from typing import Any

from .task import UPRIGHT, Published, Reference, Task

SWING_UP = {"env_id": "Pendulum-v1", "total_steps": 20_000, "eval_every": 1_000}
"""What DDPG, TD3 and SAC are compared in."""

TD3_PENDULUM = {
    "gamma": 0.98,
    "buffer_size": 200_000,
    "learning_starts": 10_000,
    "noise_std": 0.1,
    "gradient_steps": -1,
    "train_freq": (1, "episode"),
    "learning_rate": 1e-3,
    "policy_kwargs": {"net_arch": [400, 300]},
}
"""The RL Zoo's settings for DDPG and TD3, which for Pendulum-v1 are the same."""


def _swing_up(algorithm: str, settings: dict[str, Any], published: float) -> Task:
    """`SWING_UP` for an algorithm, beside the RL Zoo's settings and what it reports."""
    return Task(
        algorithm=algorithm,
        config=SWING_UP,
        threshold=-250.0,
        reference=Reference(
            algorithm=algorithm.upper(),
            settings=settings,
            source=f"RL Zoo, hyperparams/{algorithm}.yml",
        ),
        published=Published(value=published, source="RL Zoo's benchmark.md, one run"),
    )


TASKS = {
    "ddpg-pendulum": _swing_up("ddpg", TD3_PENDULUM, -152.1),
    "td3-pendulum": _swing_up("td3", TD3_PENDULUM, -151.9),
    "sac-pendulum": _swing_up("sac", {"learning_rate": 1e-3}, -157.0),
    "sac_discrete-cartpole": Task(
        algorithm="sac_discrete",
        config={"eval_every": 2_500},
        threshold=475.0,
        published=UPRIGHT,
    ),
    "td3-halfcheetah": Task(
        algorithm="td3",
        tuned="halfcheetah",
        config={"speed": "compile"},
        threshold=1_500.0,
        share=0.8,
        reference=Reference(
            algorithm="TD3",
            settings={
                "learning_starts": 10_000,
                "noise_std": 0.1,
                "learning_rate": 3e-4,
                "policy_kwargs": {"net_arch": [256, 256]},
            },
            source="the settings of our tuned file",
        ),
    ),
    "sac-halfcheetah": Task(
        algorithm="sac",
        tuned="halfcheetah",
        config={"speed": "compile"},
        threshold=1_500.0,
        share=0.8,
        reference=Reference(
            algorithm="SAC",
            settings={"learning_starts": 10_000},
            source="RL Zoo, hyperparams/sac.yml",
        ),
    ),
}
