"""SBX, Stable-Baselines3 in JAX."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
from flax import linen as nn
from sbx import PPO, SAC

from .contract import Side, Task, main
from .sb3 import environments, ppo_options, sac_options, train

PACKAGES = ("sbx-rl", "jax", "flax", "stable-baselines3", "gymnasium", "numpy")


def ppo(task: Task) -> dict[str, Any]:
    widths = list(task.settings["hidden_sizes"])
    policy = {"net_arch": {"pi": widths, "vf": widths}, "activation_fn": nn.tanh}
    options = ppo_options(task) | {"policy_kwargs": policy}
    model = PPO("MlpPolicy", environments(task), **options)
    make = partial(gymnasium.make, task.settings["env_id"])
    return train(task, model, make, PACKAGES, task.settings["num_minibatches"])


def sac(task: Task) -> dict[str, Any]:
    model = SAC("MlpPolicy", environments(task), **sac_options(task))
    make = partial(gymnasium.make, task.settings["env_id"])
    return train(task, model, make, PACKAGES)


SIDES: dict[str, Side] = {"W1": ppo, "W3": ppo, "W5": sac, "short": ppo}

if __name__ == "__main__":
    main(SIDES)
