"""What `speed` measures: one entry a workload, its two sides in `sides.py`."""

from __future__ import annotations

from dataclasses import dataclass

from .sides import Settings, Side, sb3_continuous, sb3_dqn, sb3_ppo, yieldrl


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A training that both frameworks can run with the same hyper-parameters."""

    title: str
    settings: Settings
    """Hyper-parameters in the words of the yieldrl config."""

    yieldrl_side: Side
    sb3_side: Side
    steps: int
    """Environment steps of a run, unless `--steps` says otherwise."""

    warm_up: int
    """Environment steps before the timing starts; past the first updates."""

    period: int
    """Environment steps of one round of collecting and updating."""

    def __post_init__(self) -> None:
        if self.warm_up % self.period:
            raise ValueError(f"{self.title}: warm_up must be whole rounds (period)")


CONTINUOUS: Settings = {
    "env_id": "Pendulum-v1",
    "num_envs": 1,
    "buffer_size": 1_000_000,
    "batch_size": 256,
    "train_every": 1,
    "gradient_steps": 1,
    "learning_starts": 1_000,
    "hidden_sizes": (256, 256),
    "tau": 0.005,
}
"""What W5 and W6 share; all else is at its default, which is equal on both sides."""

WORKLOADS = {
    "W1": Workload(
        title="PPO CartPole-v1, 4 environments x 128 steps, 64-64 tanh",
        settings={
            "env_id": "CartPole-v1",
            "num_envs": 4,
            "num_steps": 128,
            "num_epochs": 4,
            "num_minibatches": 4,
            "hidden_sizes": (64, 64),
            "learning_rate": 3e-4,
            "anneal_learning_rate": False,
            "entropy_coef": 0.01,
            "normalize_observation": False,
            "normalize_reward": False,
        },
        yieldrl_side=yieldrl("ppo"),
        sb3_side=sb3_ppo,
        steps=128 * 512,
        warm_up=4 * 512,
        period=512,
    ),
    "W3": Workload(
        title="PPO HalfCheetah-v5, 1 environment x 2048 steps, 64-64 tanh",
        settings={
            "env_id": "HalfCheetah-v5",
            "num_envs": 1,
            "num_steps": 2048,
            "num_epochs": 10,
            "num_minibatches": 32,
            "hidden_sizes": (64, 64),
            "learning_rate": 3e-4,
            "anneal_learning_rate": False,
            "entropy_coef": 0.01,
            "normalize_observation": True,
            "normalize_reward": False,
        },
        yieldrl_side=yieldrl("ppo"),
        sb3_side=sb3_ppo,
        steps=12 * 2048,
        warm_up=2 * 2048,
        period=2048,
    ),
    "W4": Workload(
        title="DQN CartPole-v1, batch 128 every 10 steps, 120-84 ReLU",
        settings={
            "env_id": "CartPole-v1",
            "num_envs": 1,
            "buffer_size": 10_000,
            "batch_size": 128,
            "train_every": 10,
            "gradient_steps": 1,
            "target_every": 50,
            "learning_starts": 1_000,
            "hidden_sizes": (120, 84),
            "learning_rate": 2.5e-4,
            "anneal_learning_rate": False,
            "exploration_fraction": 0.2,
            "epsilon_end": 0.05,
        },
        yieldrl_side=yieldrl("dqn"),
        sb3_side=sb3_dqn,
        steps=60_000,
        warm_up=2_000,
        period=10,
    ),
    "W5": Workload(
        title="SAC Pendulum-v1, batch 256 every step, 256-256 ReLU",
        settings=CONTINUOUS | {"learning_rate": 3e-4},
        yieldrl_side=yieldrl("sac"),
        sb3_side=sb3_continuous("SAC"),
        steps=6_000,
        warm_up=1_500,
        period=1,
    ),
    "W6": Workload(
        title="TD3 Pendulum-v1, batch 256 every step, 256-256 ReLU",
        settings=CONTINUOUS | {"learning_rate": 1e-3, "exploration_noise": 0.1},
        yieldrl_side=yieldrl("td3"),
        sb3_side=sb3_continuous("TD3"),
        steps=6_000,
        warm_up=1_500,
        period=1,
    ),
}
