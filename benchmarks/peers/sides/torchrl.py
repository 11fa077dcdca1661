"""TorchRL: collector, `GAE`, `ClipPPOLoss` and buffer, in the loop of its examples."""

from collections.abc import Iterator
from typing import Any

import gymnasium
import torch
from tensordict.nn import AddStateIndependentNormalScale, TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
from torchrl.data.replay_buffers.samplers import SamplerWithoutReplacement
from torchrl.envs import (
    Compose,
    DoubleToFloat,
    ExplorationType,
    GymEnv,
    GymWrapper,
    TransformedEnv,
    VecNorm,
    set_exploration_type,
)
from torchrl.modules import MLP, IndependentNormal, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from .clock import Clock
from .contract import Task, main, quietly

PACKAGES = ("torchrl", "tensordict", "torch", "gymnasium", "mujoco", "numpy")


class Parts:
    def __init__(self, task: Task) -> None:
        settings = task.settings
        self.env_id = settings["env_id"]
        self.norm = VecNorm(in_keys=["observation"], decay=0.99999, eps=1e-2)
        floats = DoubleToFloat(in_keys=["observation"])
        env = gymnasium.make(self.env_id)
        if settings["normalize_reward"]:
            env = gymnasium.wrappers.NormalizeReward(env, gamma=settings["gamma"])
        self.env = TransformedEnv(GymWrapper(env), Compose(self.norm, floats))
        self.env.set_seed(task.seed)
        inputs = self.env.observation_spec["observation"].shape[-1]
        outputs = self.env.action_spec.shape[-1]
        shape = {
            "in_features": inputs,
            "num_cells": list(settings["hidden_sizes"]),
            "activation_class": nn.Tanh,
        }
        scale = AddStateIndependentNormalScale(outputs, scale_mapping="exp")
        means = nn.Sequential(MLP(out_features=outputs, **shape), scale)
        self.actor = ProbabilisticActor(
            TensorDictModule(means, ["observation"], ["loc", "scale"]),
            in_keys=["loc", "scale"],
            spec=self.env.action_spec,
            distribution_class=IndependentNormal,
            return_log_prob=True,
        )
        self.critic = ValueOperator(
            MLP(out_features=1, **shape), in_keys=["observation"]
        )
        self.advantage = GAE(
            gamma=settings["gamma"],
            lmbda=settings["gae_lambda"],
            value_network=self.critic,
        )
        self.loss = ClipPPOLoss(
            self.actor,
            self.critic,
            clip_epsilon=settings["clip_coef"],
            entropy_coeff=settings["entropy_coef"],
            critic_coeff=settings["value_coef"] / 2,  # ours halves the square
            loss_critic_type="l2",
            normalize_advantage=True,
        )

    def evaluate(self, episodes: int) -> float:
        floats = DoubleToFloat(in_keys=["observation"])
        norm = self.norm.to_observation_norm()
        env = TransformedEnv(GymEnv(self.env_id), Compose(norm, floats))
        total = 0.0
        with torch.no_grad(), set_exploration_type(ExplorationType.DETERMINISTIC):
            for _ in range(episodes):
                played = env.rollout(10_000, self.actor)
                total += played["next", "reward"].sum().item()
        return total / episodes


def minibatches(task: Task, rollout: Any, buffer: Any) -> Iterator[Any]:
    for _ in range(task.settings["num_epochs"]):
        buffer.extend(rollout.reshape(-1))
        yield from buffer


def ppo(task: Task) -> dict[str, Any]:
    torch.manual_seed(task.seed)
    settings, parts = task.settings, Parts(task)
    rate, parameters = settings["learning_rate"], [*parts.loss.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=rate, eps=1e-5)
    buffer = TensorDictReplayBuffer(
        storage=LazyTensorStorage(task.batch_size),
        sampler=SamplerWithoutReplacement(),
        batch_size=task.minibatch_size,
    )
    collector = Collector(
        parts.env,
        parts.actor,
        frames_per_batch=task.batch_size,
        total_frames=task.planned // task.batch_size * task.batch_size,
    )
    clock, updates = Clock(task, lambda: parts.evaluate(task.episodes)), 0
    for count, rollout in enumerate(collector, 1):
        with torch.no_grad():
            parts.advantage(rollout)
        for batch in minibatches(task, rollout, buffer):
            losses = parts.loss(batch)
            names = ("loss_objective", "loss_critic", "loss_entropy")
            sum(losses[name] for name in names).backward()
            nn.utils.clip_grad_norm_(parameters, settings["max_grad_norm"])
            optimizer.step()
            optimizer.zero_grad()
            updates += 1
        clock(count * task.batch_size)
        if clock.done:
            break
    return clock.finish(updates, PACKAGES)


def quiet_ppo(task: Task) -> dict[str, Any]:
    with quietly():
        return ppo(task)


if __name__ == "__main__":
    main({"W3": quiet_ppo})
