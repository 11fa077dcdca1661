"""What `learning` trains: one entry a task, and the figures that compare several.

A task says beforehand what counts as learned. Its config is the algorithm's own, or a
tuned file that lies with it, with the fields of `config` over it.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Reference:
    """Another library's algorithm: same environment, budget and evaluations."""

    algorithm: str
    """Name of its class, for example "SAC"."""

    library: str = "stable_baselines3"
    """Package that has it: this one or "sb3_contrib"."""

    settings: dict[str, Any] = field(default_factory=dict)
    """Keyword arguments of its constructor, as the RL Zoo writes them: "lin_0.001" is
    a rate that falls linearly to zero, "noise_std" the deviation of normal action
    noise, and "activation_fn" in `policy_kwargs` a name from torch.nn."""

    source: str = "the library's defaults"
    """Where these settings come from."""

    policy: str = "MlpPolicy"
    """The library's name for the networks."""

    num_envs: int = 1
    """Environments that it steps side by side."""

    normalize: bool = False
    """Whether observations and rewards are normalized (by its VecNormalize)."""

    env_id: str | None = None
    """The environment that it can step, where ours is a batched equal of it."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """A return that others report, or that mathematics gives."""

    value: float
    """The mean return of an episode."""

    source: str
    """Who says so, and where: "RL Zoo's benchmark.md, one run", "value iteration"."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """What to train, what counts as learned, and what to see it beside."""

    algorithm: str
    """Name of the folder below `algorithms`."""

    tuned: str | None = None
    """Name of a file in the algorithm's `configs`, without `.yaml`."""

    config: dict[str, Any] = field(default_factory=dict)
    """Fields that differ from the tuned file, or from the algorithm's defaults."""

    threshold: float | None = None
    """The final evaluation's mean return at which a seed has learned; None for a task
    that only shows how something else compares."""

    share: float = 0.9
    """Share of the seeds that must have."""

    reference: Reference | None = None
    """The same by another library, for `--side reference` and `--side both`."""

    published: Published | None = None
    """A number to draw beside the curve."""

    def holds(self, returns: Sequence[float]) -> bool:
        """Whether enough of these final returns reach the threshold."""
        return self.passed(returns) >= self.needed(len(returns))

    def passed(self, returns: Sequence[float]) -> int:
        """How many of these returns reach the threshold; all, if there is none."""
        low = float("-inf") if self.threshold is None else self.threshold
        return sum(value >= low for value in returns)

    def needed(self, seeds: int) -> int:
        """How many of so many seeds must reach the threshold."""
        return round(self.share * seeds)

    def make_config(self, seed: int = 1) -> Any:
        """The whole config, of the algorithm's own class.

        Raises:
            ValueError: If there is no such tuned file, or a value does not fit.
        """
        from yieldrl.cli import tuned

        module = importlib.import_module(f"yieldrl.algorithms.{self.algorithm}")
        config_class = module.Trainer.config_class
        if self.tuned is None:
            return config_class(**self.config, seed=seed)
        config = tuned.load(self.tuned, module.Trainer)
        return dataclasses.replace(config, **self.config, seed=seed)


PPO_PENDULUM = Reference(
    algorithm="PPO",
    settings={
        "n_steps": 1024,
        "gamma": 0.9,
        "learning_rate": 1e-3,
        "use_sde": True,
        "sde_sample_freq": 4,
    },
    source="RL Zoo, hyperparams/ppo.yml",
    num_envs=4,
)
"""Tuned for 100 000 steps of Pendulum-v1."""


CORRIDOR = {
    "env_id": "yieldrl.benchmarks.worlds:Corridor-v0",
    "total_steps": 12_000,
    "train_every": 4,
    "tau": 0.01,
    "learning_rate": 5e-4,
    "anneal_learning_rate": False,
    "exploration_fraction": 0.8,
    "eval_every": 500,
    "eval_episodes": 1,  # world and policy leave nothing to chance
}
"""A reward thirty steps away, with few updates to bring it near."""


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
    "ppo-cartpole": Task(
        algorithm="ppo",
        config={"env_id": "CartPole-v1", "total_steps": 100_000},
        threshold=475.0,
        reference=Reference(
            algorithm="PPO",
            settings={
                "n_steps": 32,
                "batch_size": 256,
                "gae_lambda": 0.8,
                "gamma": 0.98,
                "n_epochs": 20,
                "learning_rate": "lin_0.001",
                "clip_range": "lin_0.2",
            },
            source="RL Zoo, hyperparams/ppo.yml",
            num_envs=8,
        ),
    ),
    "dqn-cartpole": Task(
        algorithm="dqn",
        config={"env_id": "CartPole-v1", "total_steps": 150_000},
        threshold=475.0,
        share=0.8,
        reference=Reference(
            algorithm="DQN",
            settings={
                "learning_rate": 2.3e-3,
                "batch_size": 64,
                "buffer_size": 100_000,
                "learning_starts": 1_000,
                "target_update_interval": 10,
                "train_freq": 256,
                "gradient_steps": 128,
                "exploration_fraction": 0.16,
                "exploration_final_eps": 0.04,
                "policy_kwargs": {"net_arch": [256, 256]},
            },
            source="RL Zoo, hyperparams/dqn.yml",
        ),
    ),
    "ppo-pendulum": Task(
        algorithm="ppo",
        config={"env_id": "Pendulum-v1", "total_steps": 300_000},
        threshold=-250.0,
        reference=PPO_PENDULUM,
    ),
    "ppo-pendulum-tuned": Task(
        algorithm="ppo",
        tuned="pendulum",
        threshold=-250.0,
        reference=PPO_PENDULUM,
        published=Published(value=-172.2, source="RL Zoo's benchmark.md, one run"),
    ),
    "reinforce-cartpole": Task(
        algorithm="reinforce",
        config={"env_id": "CartPole-v1", "total_steps": 100_000},
        threshold=475.0,
        share=0.8,
    ),
    "a2c-cartpole": Task(
        algorithm="a2c",
        config={"env_id": "CartPole-v1", "total_steps": 100_000},
        threshold=475.0,
        reference=Reference(
            algorithm="A2C",
            settings={"ent_coef": 0.0},
            source="RL Zoo, hyperparams/a2c.yml, for 500 000 steps",
            num_envs=8,
        ),
    ),
    "ppo_masked-taxi": Task(
        algorithm="ppo_masked",
        config={"env_id": "Taxi-v4", "num_envs": 8, "total_steps": 200_000},
        threshold=5.0,  # every passenger arrives, and hardly a detour is made
        reference=Reference(
            algorithm="MaskablePPO",
            library="sb3_contrib",
            policy="MultiInputPolicy",
            num_envs=8,
        ),
        published=Published(value=7.93, source="value iteration"),
    ),
    "ppo-taxi": Task(  # the same without masks
        algorithm="ppo",
        config={"env_id": "Taxi-v4", "num_envs": 8, "total_steps": 200_000},
    ),
    "ppo_lstm-tmaze": Task(
        algorithm="ppo_lstm",
        config={"env_id": "yieldrl/TMaze-v1", "total_steps": 100_000},
        threshold=0.95,  # without a memory it is 0.5 at most
        reference=Reference(
            algorithm="RecurrentPPO",
            library="sb3_contrib",
            policy="MlpLstmPolicy",
            num_envs=8,
        ),
        published=Published(value=1.0, source="every turn right"),
    ),
    "ppo-tmaze": Task(  # the same without a memory
        algorithm="ppo",
        config={"env_id": "yieldrl/TMaze-v1", "total_steps": 100_000},
    ),
    "ppo_lstm-cartpole-positions": Task(
        algorithm="ppo_lstm",
        config={
            "env_id": "yieldrl/CartPole-v1",
            "env_kwargs": {"velocities": False},
            "total_steps": 200_000,
        },
        threshold=475.0,
        reference=Reference(
            algorithm="RecurrentPPO",
            library="sb3_contrib",
            policy="MlpLstmPolicy",
            settings={
                "n_steps": 32,
                "batch_size": 256,
                "gae_lambda": 0.8,
                "gamma": 0.98,
                "n_epochs": 20,
                "ent_coef": 0.0,
                "learning_rate": "lin_0.001",
                "clip_range": "lin_0.2",
            },
            source="RL Zoo, hyperparams/ppo_lstm.yml, CartPoleNoVel-v1",
            num_envs=8,
        ),
    ),
    "ppo-cartpole-positions": Task(  # the same without a memory
        algorithm="ppo",
        config={
            "env_id": "yieldrl/CartPole-v1",
            "env_kwargs": {"velocities": False},
            "total_steps": 200_000,
        },
    ),
    "q_learning-frozenlake": Task(
        algorithm="q_learning",
        tuned="frozenlake",
        threshold=0.65,
        published=Published(value=0.74, source="value iteration, 100 steps at most"),
    ),
    "q_learning-frozenlake8x8": Task(
        algorithm="q_learning",
        tuned="frozenlake8x8",
        threshold=0.75,
        published=Published(value=0.863, source="value iteration, 200 steps at most"),
    ),
    "q_learning-taxi": Task(
        algorithm="q_learning",
        tuned="taxi",
        threshold=7.4,
        published=Published(value=7.93, source="value iteration"),
    ),
    "q_learning-cliffwalking": Task(
        algorithm="q_learning",
        tuned="cliffwalking",
        threshold=-13.0,
        published=Published(value=-13.0, source="value iteration"),
    ),
    "sarsa-cliffwalking": Task(
        algorithm="sarsa",
        tuned="q_learning/cliffwalking",
        threshold=-17.0,  # the way with room to stumble, on purpose no shorter one
    ),
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
    "dqn-corridor": Task(algorithm="dqn", config=CORRIDOR),
    "n_step_dqn-corridor": Task(algorithm="n_step_dqn", config=CORRIDOR, threshold=1.0),
}
"""Task -> what it is. `benchmarks/results/TASK.json` keeps what came out."""


FIGURES: dict[str, tuple[str, ...]] = {
    "corridor": ("n_step_dqn-corridor", "dqn-corridor"),
    "pendulum": ("sac-pendulum", "td3-pendulum", "ddpg-pendulum"),
    "halfcheetah": ("sac-halfcheetah", "td3-halfcheetah"),
    "taxi-masks": ("ppo_masked-taxi", "ppo-taxi"),
    "tmaze-memory": ("ppo_lstm-tmaze", "ppo-tmaze"),
    "cartpole-memory": ("ppo_lstm-cartpole-positions", "ppo-cartpole-positions"),
}
"""Figure -> tasks of one environment, drawn on one pair of axes by `plot`."""
