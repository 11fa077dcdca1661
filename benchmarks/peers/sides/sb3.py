"""Stable-Baselines3 as in its documentation: `make_vec_env`, the CPU, no output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from stable_baselines3 import DQN, PPO, SAC
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize
from torch import nn

from .clock import Clock
from .contract import Side, Task, main, mean_return

PACKAGES = ("stable-baselines3", "torch", "gymnasium", "numpy")


def train(
    task: Task,
    model: Any,
    make: Callable[[], Any],
    packages: tuple[str, ...] = PACKAGES,
    updates_per_count: int = 1,
) -> dict[str, Any]:
    """Let a model learn, with a callback that hears every step.

    The model may count one update for `updates_per_count` gradient steps.
    """
    normalizer = model.get_vec_normalize_env()

    def act(obs: Any) -> Any:
        seen = obs if normalizer is None else normalizer.normalize_obs(obs)
        return model.predict(seen, deterministic=True)[0]

    seed = 10_000 + task.seed
    clock = Clock(task, lambda: mean_return(act, make, task.episodes, seed))

    def after_step(*_: Any) -> bool:
        clock(model.num_timesteps)
        return not clock.done

    model.learn(task.planned, callback=after_step)
    return clock.finish(model._n_updates * updates_per_count, packages)


def environments(task: Task) -> Any:
    """The environments to train in, with observations and rewards as is asked."""
    settings = task.settings
    envs = make_vec_env(settings["env_id"], settings["num_envs"], seed=task.seed)
    seen = settings.get("normalize_observation", False)
    paid = settings.get("normalize_reward", False)
    if not (seen or paid):
        return envs
    gamma = settings["gamma"]
    return VecNormalize(envs, norm_obs=seen, norm_reward=paid, gamma=gamma)


def ppo_options(task: Task) -> dict[str, Any]:
    settings = task.settings
    return {
        "learning_rate": settings["learning_rate"],
        "n_steps": settings["num_steps"],
        "batch_size": task.minibatch_size,
        "n_epochs": settings["num_epochs"],
        "gamma": settings["gamma"],
        "gae_lambda": settings["gae_lambda"],
        "clip_range": settings["clip_coef"],
        "ent_coef": settings["entropy_coef"],
        "vf_coef": settings["value_coef"] / 2,  # ours halves the square
        "max_grad_norm": settings["max_grad_norm"],
        "seed": task.seed,
        "device": "cpu",
    }


def sac_options(task: Task) -> dict[str, Any]:
    settings = task.settings
    return {
        "learning_rate": settings["learning_rate"],
        "buffer_size": settings["buffer_size"],
        "learning_starts": settings["learning_starts"],
        "batch_size": settings["batch_size"],
        "tau": settings["tau"],
        "gamma": settings["gamma"],
        "train_freq": settings["train_every"],
        "gradient_steps": settings["gradient_steps"],
        "policy_kwargs": {"net_arch": list(settings["hidden_sizes"])},
        "seed": task.seed,
        "device": "cpu",
    }


def ppo(task: Task) -> dict[str, Any]:
    widths = list(task.settings["hidden_sizes"])
    policy = {"net_arch": {"pi": widths, "vf": widths}, "activation_fn": nn.Tanh}
    options = ppo_options(task) | {"policy_kwargs": policy}
    model = PPO("MlpPolicy", environments(task), **options)
    # It counts epochs, not gradient steps.
    return train(
        task,
        model,
        lambda: gymnasium.make(task.settings["env_id"]),
        updates_per_count=task.settings["num_minibatches"],
    )


def dqn(task: Task) -> dict[str, Any]:
    """DQN, whose loss is Huber's."""
    settings = task.settings
    model = DQN(
        "MlpPolicy",
        environments(task),
        learning_rate=settings["learning_rate"],
        buffer_size=settings["buffer_size"],
        learning_starts=settings["learning_starts"],
        batch_size=settings["batch_size"],
        tau=settings["tau"],
        gamma=settings["gamma"],
        train_freq=settings["train_every"],
        gradient_steps=settings["gradient_steps"],
        # It counts environment steps, not gradient steps.
        target_update_interval=settings["target_every"] * settings["train_every"],
        exploration_fraction=settings["exploration_steps"] / task.planned,
        exploration_final_eps=settings["epsilon_end"],
        max_grad_norm=settings["max_grad_norm"],
        policy_kwargs={"net_arch": list(settings["hidden_sizes"])},
        seed=task.seed,
        device="cpu",
    )
    return train(task, model, lambda: gymnasium.make(settings["env_id"]))


def sac(task: Task) -> dict[str, Any]:
    model = SAC("MlpPolicy", environments(task), **sac_options(task))
    return train(task, model, lambda: gymnasium.make(task.settings["env_id"]))


def breakout(task: Task) -> dict[str, Any]:
    """PPO on the package `minatar`, with a CNN as large as ours."""
    from .breakout import Breakout, Features

    def make() -> gymnasium.Env[np.ndarray, int]:
        return gymnasium.wrappers.TimeLimit(Breakout(), 2_000)

    policy = {
        "features_extractor_class": Features,
        "normalize_images": False,
        "net_arch": list(task.settings["hidden_sizes"]),
        "activation_fn": nn.Tanh,
    }
    envs = make_vec_env(make, task.settings["num_envs"], seed=task.seed)
    model = PPO("CnnPolicy", envs, **ppo_options(task), policy_kwargs=policy)
    return train(
        task, model, make, (*PACKAGES, "minatar"), task.settings["num_minibatches"]
    )


SIDES: dict[str, Side] = {
    "W1": ppo,
    "W3": ppo,
    "W4": dqn,
    "W5": sac,
    "W6": breakout,
    "short": ppo,
}

if __name__ == "__main__":
    main(SIDES)
