"""rsl-rl-lib: its `OnPolicyRunner` on many carts of PyTorch. It has continuous actions
alone: a cart is pushed to the side that the sign of a Gaussian number tells."""

from typing import Any

import torch
from rsl_rl.env import VecEnv
from rsl_rl.runners import OnPolicyRunner
from tensordict import TensorDict
from torch import Tensor

from .carts import LONGEST, fallen, moved
from .clock import Clock
from .contract import Task, main

PACKAGES = ("rsl-rl-lib", "torch", "tensordict", "numpy")


class CartPole(VecEnv):
    """Carts as the runner wants them: position, velocity, angle and angular velocity
    `[N, 4]`, and the episodes' ages `[N]`."""

    def __init__(self, num_envs: int) -> None:
        self.num_envs, self.num_actions = num_envs, 1
        self.max_episode_length, self.device, self.cfg = LONGEST, "cpu", {}
        self.state = self.fresh()
        self.episode_length_buf = torch.zeros(num_envs, dtype=torch.long)

    def fresh(self) -> Tensor:
        """Where episodes begin, `[N, 4]`."""
        return torch.rand(self.num_envs, 4) * 0.1 - 0.05

    def get_observations(self) -> TensorDict:
        return TensorDict({"policy": self.state}, [self.num_envs])

    def step(self, actions: Tensor) -> tuple[TensorDict, Tensor, Tensor, dict]:
        """Push the carts; the reward is 1 for every step, and 500 are the most."""
        state, ages = moved(self.state, actions[:, 0] > 0), self.episode_length_buf + 1
        terminated = fallen(state)
        truncated = (ages >= LONGEST) & ~terminated
        ended = terminated | truncated
        self.state = torch.where(ended[:, None], self.fresh(), state)
        self.episode_length_buf = torch.where(ended, 0, ages)
        rewards, extras = torch.ones(self.num_envs), {"time_outs": truncated}
        return self.get_observations(), rewards, ended, extras


def config(task: Task) -> dict[str, Any]:
    settings = task.settings
    network = {
        "class_name": "MLPModel",
        "hidden_dims": settings["hidden_sizes"],
        "activation": "tanh",
        "obs_normalization": settings["normalize_observation"],
    }
    gaussian = {"class_name": "GaussianDistribution", "init_std": 1.0}
    return {
        "num_steps_per_env": settings["num_steps"],
        "save_interval": 10**9,
        "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "actor": network | {"distribution_cfg": gaussian},
        "critic": network,
        "algorithm": task.named("rsl_rl PPO")
        | {
            "class_name": "PPO",
            "schedule": "fixed",
            "value_loss_coef": settings["value_coef"] / 2,  # ours halves the square
            "use_clipped_value_loss": False,
            "normalize_advantage_per_mini_batch": True,
        },
    }


def evaluate(policy: Any, episodes: int) -> float:
    """Mean return of the first episodes of so many carts."""
    env = CartPole(episodes)
    returns, going = torch.zeros(episodes), torch.ones(episodes, dtype=torch.bool)
    with torch.inference_mode():
        while going.any():
            _, rewards, ended, _ = env.step(policy(env.get_observations()))
            returns += rewards * going
            going &= ~ended
    return returns.mean().item()


def train(task: Task) -> dict[str, Any]:
    torch.manual_seed(task.seed)
    env = CartPole(task.settings["num_envs"])
    runner = OnPolicyRunner(env, config(task), device="cpu")
    clock = Clock(task, lambda: evaluate(runner.alg.get_policy(), task.episodes))
    rollouts, log = 0, runner.logger.log

    def after_rollout(**found: Any) -> None:
        nonlocal rollouts
        rollouts += 1
        log(**found)
        clock(rollouts * task.batch_size)

    runner.logger.log = after_rollout
    runner.learn(-(-task.steps // task.batch_size))
    return clock.finish(rollouts * task.gradient_steps, PACKAGES)


if __name__ == "__main__":
    main({"W2": train})
