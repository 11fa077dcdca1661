"""Stable-Baselines3's PPO as in its documentation: `make_vec_env`, the CPU, no output.

It has two separate networks of tanh, the default of its `MlpPolicy`.
"""

from typing import Any

from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from torch import nn

from .clock import Clock
from .contract import Task, main

PACKAGES = ("stable-baselines3", "torch", "gymnasium", "numpy")


def train(task: Task) -> dict[str, Any]:
    """Let a model learn, with a callback that hears every step."""
    settings, widths = task.settings, list(task.settings["hidden_sizes"])
    policy = {"net_arch": {"pi": widths, "vf": widths}, "activation_fn": nn.Tanh}
    env_id = settings["env_id"]
    model = PPO(
        "MlpPolicy",
        make_vec_env(env_id, settings["num_envs"], seed=task.seed),
        **task.named("sb3 PPO"),
        batch_size=task.minibatch_size,
        vf_coef=settings["value_coef"] / 2,  # ours halves the square
        policy_kwargs=policy,
        seed=task.seed,
        device="cpu",
    )

    def evaluate() -> float:
        envs = make_vec_env(env_id, seed=10_000 + task.seed)
        return evaluate_policy(model, envs, task.episodes)[0]

    clock = Clock(task, evaluate)

    def after_step(*_: Any) -> bool:
        clock(model.num_timesteps)
        return not clock.done

    model.learn(task.planned, callback=after_step)
    updates = model._n_updates * settings["num_minibatches"]  # it counts epochs
    return clock.finish(updates, PACKAGES)


if __name__ == "__main__":
    main({"W1": train, "short": train})
