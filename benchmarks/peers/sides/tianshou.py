"""Tianshou: its `OffPolicyTrainer`, with a collector of one environment. It counts
gradient steps by the sample, and does not clip the gradients of DQN."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from .clock import Clock, TrainingEnds
from .contract import Task, main, quietly

PACKAGES = ("tianshou", "torch", "gymnasium", "numpy")


def network(env: Any, widths: list[int]) -> Net:
    """Q-values of all actions, by hidden layers of ReLU."""
    return Net(
        state_shape=env.observation_space.shape,
        action_shape=env.action_space.n,
        hidden_sizes=widths,
    )


def algorithm_of(settings: dict[str, Any], net: Net, space: Any) -> DQN:
    """DQN, not double, whose loss is Huber's."""
    return DQN(
        policy=DiscreteQLearningPolicy(model=net, action_space=space),
        optim=AdamOptimizerFactory(lr=settings["learning_rate"]),
        gamma=settings["gamma"],
        target_update_freq=settings["target_every"],
        is_double=False,
        huber_loss_delta=settings["error_clip"],
    )


def clock_of(task: Task, net: Net, make: Callable[[], Any]) -> Clock:
    def act(obs: Any) -> Any:
        with torch.no_grad():
            return int(net(obs[None])[0].argmax())

    return Clock.of_episodes(task, act, make)


def parameters(
    task: Task, collector: Any, before_step: Callable[[int, int], None]
) -> OffPolicyTrainerParams:
    """Those of the trainer; `before_step` hears an epoch and environment steps."""
    settings = task.settings
    per_step = settings["gradient_steps"] / settings["train_every"]
    return OffPolicyTrainerParams(
        max_epochs=1,
        epoch_num_steps=task.planned,
        training_collector=collector,
        collection_step_num_env_steps=settings["train_every"],
        update_step_num_gradient_steps_per_sample=per_step,
        batch_size=settings["batch_size"],
        training_fn=before_step,
        verbose=False,
        show_progress=False,
    )


def dqn(task: Task) -> dict[str, Any]:
    np.random.seed(task.seed)
    torch.manual_seed(task.seed)
    settings, make = task.settings, partial(gymnasium.make, task.settings["env_id"])
    envs, env = DummyVectorEnv([make]), make()
    envs.seed(task.seed)
    net = network(env, settings["hidden_sizes"])
    algorithm = algorithm_of(settings, net, env.action_space)
    clock = clock_of(task, net, make)
    buffer = VectorReplayBuffer(settings["buffer_size"], 1)
    collector = Collector(algorithm, envs, buffer, exploration_noise=True)
    starts, explored = settings["learning_starts"], settings["exploration_steps"]

    def before_step(_: int, taken: int) -> None:
        clock.or_end(starts + taken)
        left = max(0.0, 1 - (starts + taken) / explored)
        epsilon = settings["epsilon_end"] * (1 - left) + left
        algorithm.policy.set_eps_training(epsilon)

    with quietly():
        collector.reset()
        collector.collect(n_step=starts, random=True)
        with suppress(TrainingEnds):
            algorithm.run_training(parameters(task, collector, before_step))
        updates = (clock.steps - starts) // settings["train_every"]
        return clock.finish(updates * settings["gradient_steps"], PACKAGES)


if __name__ == "__main__":
    main({"W4": dqn})
