"""Tasks of the actors with critics off the policy: DDPG, TD3 and SAC."""

from __future__ import annotations

from .task import Published, Reference, Task

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

TASKS = {
    "ddpg-pendulum": Task(
        algorithm="ddpg",
        config=SWING_UP,
        threshold=-250.0,
        reference=Reference(
            algorithm="DDPG",
            settings=TD3_PENDULUM,
            source="RL Zoo, hyperparams/ddpg.yml",
        ),
        published=Published(value=-152.1, source="RL Zoo's benchmark.md, one run"),
    ),
    "td3-pendulum": Task(
        algorithm="td3",
        config=SWING_UP,
        threshold=-250.0,
        reference=Reference(
            algorithm="TD3",
            settings=TD3_PENDULUM,
            source="RL Zoo, hyperparams/td3.yml",
        ),
        published=Published(value=-151.9, source="RL Zoo's benchmark.md, one run"),
    ),
    "sac-pendulum": Task(
        algorithm="sac",
        config=SWING_UP,
        threshold=-250.0,
        reference=Reference(
            algorithm="SAC",
            settings={"learning_rate": 1e-3},
            source="RL Zoo, hyperparams/sac.yml",
        ),
        published=Published(value=-157.0, source="RL Zoo's benchmark.md, one run"),
    ),
    "sac_discrete-cartpole": Task(
        algorithm="sac_discrete",
        config={"eval_every": 2_500},
        threshold=475.0,
    ),
    "td3-halfcheetah": Task(
        algorithm="td3",
        tuned="halfcheetah",
        threshold=7_000.0,
        published=Published(
            value=9637.0, source="arXiv:1802.09477, table 1 (HalfCheetah-v1)"
        ),
    ),
    "sac-halfcheetah": Task(
        algorithm="sac",
        tuned="halfcheetah",
        threshold=7_000.0,
        published=Published(
            value=9535.5, source="RL Zoo's benchmark.md, one run (HalfCheetah-v3)"
        ),
    ),
}
