"""Stable-Baselines3 as in its documentation: `make_vec_env`, the CPU, no output."""

from functools import partial
from typing import Any

import gymnasium
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
    updates_per_count: int = 1,
) -> dict[str, Any]:
    """Let a model learn, with a callback that hears every step. It may count one update
    for several gradient steps."""
    normalizer = model.get_vec_normalize_env()

    def act(obs: Any) -> Any:
        seen = obs if normalizer is None else normalizer.normalize_obs(obs)
        return model.predict(seen, deterministic=True)[0]

    make, seed = partial(gymnasium.make, task.settings["env_id"]), 10_000 + task.seed
    clock = Clock(task, lambda: mean_return(act, make, task.episodes, seed))

    def after_step(*_: Any) -> bool:
        clock(model.num_timesteps)
        return not clock.done

    model.learn(task.planned, callback=after_step)
    return clock.finish(model._n_updates * updates_per_count, PACKAGES)


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


def options(task: Task, algorithm: str, **policy: Any) -> dict[str, Any]:
    """Arguments of an algorithm, and of its policy."""
    own = {"policy_kwargs": policy, "seed": task.seed, "device": "cpu"}
    return task.named(f"sb3 {algorithm}") | own


def ppo(task: Task) -> dict[str, Any]:
    """PPO with two separate networks of tanh, the default of its `MlpPolicy`; it counts
    epochs."""
    widths = list(task.settings["hidden_sizes"])
    policy = {"net_arch": {"pi": widths, "vf": widths}, "activation_fn": nn.Tanh}
    halved = task.settings["value_coef"] / 2  # ours halves the square
    own = {"batch_size": task.minibatch_size, "vf_coef": halved}
    arguments = options(task, "PPO", **policy) | own
    model = PPO("MlpPolicy", environments(task), **arguments)
    return train(task, model, task.settings["num_minibatches"])


def dqn(task: Task) -> dict[str, Any]:
    """DQN, whose loss is Huber's; it counts environment steps."""
    settings = task.settings
    model = DQN(
        "MlpPolicy",
        environments(task),
        **options(task, "DQN", net_arch=list(settings["hidden_sizes"])),
        target_update_interval=settings["target_every"] * settings["train_every"],
        exploration_fraction=settings["exploration_steps"] / task.planned,
    )
    return train(task, model)


def sac(task: Task) -> dict[str, Any]:
    """SAC, with its learned temperature."""
    arguments = options(task, "SAC", net_arch=list(task.settings["hidden_sizes"]))
    return train(task, SAC("MlpPolicy", environments(task), **arguments))


SIDES: dict[str, Side] = {
    "W1": ppo,
    "W3": ppo,
    "W4": dqn,
    "W5": sac,
    "short": ppo,
}

if __name__ == "__main__":
    main(SIDES)
