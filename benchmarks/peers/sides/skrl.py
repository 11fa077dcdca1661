"""skrl: its PPO agent and its `SequentialTrainer` on Gymnasium's vector environment.
Its advantages are normalized once a rollout, not in every minibatch."""

from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Any

import gymnasium
import torch
from gymnasium.wrappers.vector import NormalizeReward
from skrl.agents.torch.ppo import PPO
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
from skrl.resources.preprocessors.torch import RunningStandardScaler
from skrl.trainers.torch import SequentialTrainer
from skrl.utils import set_seed
from torch import Tensor, nn

from .clock import Clock, TrainingEnds
from .contract import Task, main, quietly

PACKAGES = ("skrl", "torch", "gymnasium", "mujoco", "numpy")


def layers(inputs: int, widths: list[int], outputs: int) -> nn.Sequential:
    """Hidden layers of tanh, and a linear one."""
    sizes, modules = [inputs, *widths], []
    for before, after in pairwise(sizes):
        modules += [nn.Linear(before, after), nn.Tanh()]
    return nn.Sequential(*modules, nn.Linear(sizes[-1], outputs))


class Policy(GaussianMixin, Model):
    """A Gaussian with a standard deviation that does not depend on the state."""

    def __init__(self, widths: list[int], **spaces: Any) -> None:
        Model.__init__(self, **spaces)
        GaussianMixin.__init__(self)
        self.net = layers(self.num_observations, widths, self.num_actions)
        self.log_std = nn.Parameter(torch.zeros(self.num_actions))

    def compute(self, inputs: dict[str, Any], role: str) -> tuple[Tensor, dict]:
        return self.net(inputs["observations"]), {"log_std": self.log_std}


class Value(DeterministicMixin, Model):
    def __init__(self, widths: list[int], **spaces: Any) -> None:
        Model.__init__(self, **spaces)
        DeterministicMixin.__init__(self)
        self.net = layers(self.num_observations, widths, 1)

    def compute(self, inputs: dict[str, Any], role: str) -> tuple[Tensor, dict]:
        return self.net(inputs["observations"]), {}


def config(task: Task, space: Any) -> dict[str, Any]:
    """The agent's config; it writes no files."""
    return task.named("skrl PPO") | {
        "value_clip": 0.0,
        "value_loss_scale": task.settings["value_coef"] / 2,  # ours halves the square
        "time_limit_bootstrap": True,
        "observation_preprocessor": RunningStandardScaler,
        "observation_preprocessor_kwargs": {"size": space, "device": "cpu"},
        "experiment": {"write_interval": 0, "checkpoint_interval": 0},
    }


def agent_of(task: Task, env: Any) -> PPO:
    """PPO with two separate networks of tanh."""
    settings, widths = task.settings, list(task.settings["hidden_sizes"])
    spaces = {
        "observation_space": env.observation_space,
        "action_space": env.action_space,
        "device": "cpu",
    }
    memory = {"memory_size": settings["num_steps"], "num_envs": settings["num_envs"]}
    return PPO(
        models={"policy": Policy(widths, **spaces), "value": Value(widths, **spaces)},
        memory=RandomMemory(**memory, device="cpu"),
        cfg=config(task, env.observation_space),
        **spaces,
    )


def clock_of(task: Task, agent: PPO) -> Clock:
    """One that evaluates with the means of the policy."""
    make = partial(gymnasium.make, task.settings["env_id"])

    def act(obs: Any) -> Any:
        seen = torch.as_tensor(obs, dtype=torch.float32)[None]
        with torch.no_grad():
            means = agent.policy.net(agent._observation_preprocessor(seen))
        return means[0].clamp(-1, 1).numpy()

    return Clock.of_episodes(task, act, make)


def ppo(task: Task) -> dict[str, Any]:
    set_seed(task.seed)
    env_id, count = task.settings["env_id"], task.settings["num_envs"]
    env = gymnasium.make_vec(env_id, count, vectorization_mode="sync")
    if task.settings["normalize_reward"]:
        env = NormalizeReward(env, gamma=task.settings["gamma"])
    env = wrap_env(env)
    agent = agent_of(task, env)
    clock, after = clock_of(task, agent), agent.post_interaction

    def after_step(*, timestep: int, timesteps: int) -> None:
        after(timestep=timestep, timesteps=timesteps)
        clock.or_end((timestep + 1) * count)

    agent.post_interaction = after_step
    options = {
        "timesteps": task.planned,
        "headless": True,
        "disable_progressbar": True,
        "close_environment_at_exit": False,
    }
    with quietly():
        with suppress(TrainingEnds):
            SequentialTrainer(env=env, agents=agent, cfg=options).train()
        rollouts = clock.steps // task.batch_size
        return clock.finish(rollouts * task.gradient_steps, PACKAGES)


if __name__ == "__main__":
    main({"W3": ppo})
