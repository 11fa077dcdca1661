"""Stable-Baselines3 as in its documentation: `make_vec_env`, the CPU, no output."""

from typing import Any

from stable_baselines3 import DQN, PPO, SAC
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecNormalize
from torch import nn

from .clock import Clock
from .contract import Task, main

PACKAGES = ("stable-baselines3", "torch", "gymnasium", "numpy")


def train(
    task: Task, kind: Any, updates_per_count: int = 1, **own: Any
) -> dict[str, Any]:
    """Let a model learn; it may count one update for several gradient steps."""
    settings = task.settings
    envs = make_vec_env(settings["env_id"], settings["num_envs"], seed=task.seed)
    seen, paid = (settings.get(f"normalize_{x}") for x in ("observation", "reward"))
    if seen or paid:
        envs = VecNormalize(envs, True, seen, paid, gamma=settings["gamma"])
    options = task.named(f"sb3 {kind.__name__}") | own
    model = kind("MlpPolicy", envs, seed=task.seed, device="cpu", **options)

    def evaluate() -> float:
        played = make_vec_env(settings["env_id"], seed=10_000 + task.seed)
        if seen:
            played = VecNormalize(played, training=False, norm_reward=False)
            played.obs_rms = envs.obs_rms
        return evaluate_policy(model, played, task.episodes)[0]

    clock = Clock(task, evaluate)

    def after_step(*_: Any) -> bool:
        clock(model.num_timesteps)
        return not clock.done

    model.learn(task.planned, callback=after_step)
    return clock.finish(model._n_updates * updates_per_count, PACKAGES)


def ppo(task: Task) -> dict[str, Any]:
    """PPO with two separate networks of tanh, as its `MlpPolicy`; it counts epochs."""
    settings, widths = task.settings, list(task.settings["hidden_sizes"])
    policy = {"net_arch": {"pi": widths, "vf": widths}, "activation_fn": nn.Tanh}
    own = {"batch_size": task.minibatch_size, "policy_kwargs": policy}
    halved = settings["value_coef"] / 2  # ours halves the square
    return train(task, PPO, settings["num_minibatches"], vf_coef=halved, **own)


def from_replay(task: Task) -> dict[str, Any]:
    """SAC, with its learned temperature; or DQN, whose loss is Huber's."""
    settings, own = task.settings, {}
    if explored := settings.get("exploration_steps"):
        own["exploration_fraction"] = explored / task.planned
        every = settings["target_every"] * settings["train_every"]
        own["target_update_interval"] = every
    policy = {"net_arch": list(settings["hidden_sizes"])}
    return train(task, DQN if explored else SAC, policy_kwargs=policy, **own)


if __name__ == "__main__":
    replayed = {"W4": from_replay, "W5": from_replay}
    main({"W1": ppo, "W3": ppo, "short": ppo, **replayed})
