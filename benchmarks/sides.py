"""The two sides of a workload: yieldrl, and Stable-Baselines3.

Each side is a function that gets the same hyper-parameters, in the words of the yieldrl
config, builds everything, and returns the training. That is a function too: it is given
a watch, tells it after every step how many environment steps were taken, and returns
how many gradient steps it took.

Stable-Baselines3 is used as its documentation does: `make_vec_env` (a DummyVecEnv of
environments in a Monitor, which gives it the episode statistics that yieldrl logs too),
its default optimizer and log interval, no output (`verbose=0`), on the CPU. On the
side of yieldrl every `LogData` is consumed.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Settings = dict[str, Any]
Watch = Callable[[int], None]
Train = Callable[[Watch], int]
Side = Callable[[Settings, "Run"], Train]


@dataclass(frozen=True, kw_only=True)
class Run:
    """What differs between two runs of a workload."""

    steps: int
    seed: int
    threads: int
    speed: str


def yieldrl(algorithm: str) -> Side:
    """The side of yieldrl, for the name of a folder below `algorithms`."""

    def build(settings: Settings, run: Run) -> Train:
        module = importlib.import_module(f"yieldrl.algorithms.{algorithm}")
        return _loop(module.Trainer(_config(module.Config, settings, run)))

    return build


def sb3_ppo(settings: Settings, run: Run) -> Train:
    """PPO of Stable-Baselines3 (two separate networks; MlpPolicy's default)."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize
    from torch import nn

    envs = make_vec_env(settings["env_id"], settings["num_envs"], seed=run.seed)
    if settings["normalize_observation"]:
        envs = VecNormalize(envs, norm_reward=False)
    widths, minibatches = list(settings["hidden_sizes"]), settings["num_minibatches"]
    model = PPO(
        "MlpPolicy",
        envs,
        learning_rate=settings["learning_rate"],
        n_steps=settings["num_steps"],
        batch_size=settings["num_envs"] * settings["num_steps"] // minibatches,
        n_epochs=settings["num_epochs"],
        ent_coef=settings["entropy_coef"],
        policy_kwargs={
            "net_arch": {"pi": widths, "vf": widths},
            "activation_fn": nn.Tanh,
        },
        seed=run.seed,
        device="cpu",
    )
    # It counts epochs, not gradient steps.
    return _learn(model, run.steps, updates_per_count=minibatches)


def sb3_dqn(settings: Settings, run: Run) -> Train:
    """DQN of Stable-Baselines3 (ReLU; MlpPolicy's default)."""
    from stable_baselines3 import DQN
    from stable_baselines3.common.env_util import make_vec_env

    model = DQN(
        "MlpPolicy",
        make_vec_env(settings["env_id"], settings["num_envs"], seed=run.seed),
        learning_rate=settings["learning_rate"],
        buffer_size=settings["buffer_size"],
        learning_starts=settings["learning_starts"],
        batch_size=settings["batch_size"],
        train_freq=settings["train_every"],
        gradient_steps=settings["gradient_steps"],
        # It counts environment steps, not gradient steps.
        target_update_interval=settings["target_every"] * settings["train_every"],
        exploration_fraction=settings["exploration_fraction"],
        exploration_final_eps=settings["epsilon_end"],
        policy_kwargs={"net_arch": list(settings["hidden_sizes"])},
        seed=run.seed,
        device="cpu",
    )
    return _learn(model, run.steps)


def sb3_continuous(algorithm: str) -> Side:
    """SAC or TD3 of Stable-Baselines3 (ReLU; MlpPolicy's default)."""

    def build(settings: Settings, run: Run) -> Train:
        import numpy as np
        import stable_baselines3
        from stable_baselines3.common.env_util import make_vec_env
        from stable_baselines3.common.noise import NormalActionNoise

        envs = make_vec_env(settings["env_id"], settings["num_envs"], seed=run.seed)
        noise = None
        if "exploration_noise" in settings:
            size = envs.action_space.shape or ()
            std = np.full(size, settings["exploration_noise"])
            noise = NormalActionNoise(np.zeros(size), std)
        model = getattr(stable_baselines3, algorithm)(
            "MlpPolicy",
            envs,
            learning_rate=settings["learning_rate"],
            buffer_size=settings["buffer_size"],
            learning_starts=settings["learning_starts"],
            batch_size=settings["batch_size"],
            tau=settings["tau"],
            train_freq=settings["train_every"],
            gradient_steps=settings["gradient_steps"],
            action_noise=noise,
            policy_kwargs={"net_arch": list(settings["hidden_sizes"])},
            seed=run.seed,
            device="cpu",
        )
        return _learn(model, run.steps)

    return build


def _config(config_class: Callable[..., Any], settings: Settings, run: Run) -> Any:
    return config_class(
        **settings,
        total_steps=run.steps,
        seed=run.seed,
        threads=run.threads,
        speed=run.speed,
        device="cpu",
        eval_every=0,
    )


def _loop(trainer: Any) -> Train:
    def train(watch: Watch) -> int:
        for log in trainer():
            watch(log["sample_step"])
        return trainer.agent.learn_step

    return train


def _learn(model: Any, steps: int, updates_per_count: int = 1) -> Train:
    def train(watch: Watch) -> int:
        def after_step(*_: Any) -> bool:
            watch(model.num_timesteps)
            return True

        model.learn(steps, callback=after_step)
        return model._n_updates * updates_per_count

    return train
