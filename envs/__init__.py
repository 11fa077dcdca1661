"""Environments: batches of tensors on a device, and Gymnasium's own as batches."""

import gymnasium

from yieldrl.envs.batched import TorchVectorEnv
from yieldrl.envs.evaluation import make_eval
from yieldrl.envs.make import make, name_of
from yieldrl.envs.serial import SerialVectorEnv

__all__ = ["SerialVectorEnv", "TorchVectorEnv", "make", "make_eval", "name_of"]

gymnasium.register(
    id="yieldrl/CartPole-v1",
    vector_entry_point="yieldrl.envs.cartpole:CartPoleVectorEnv",
    max_episode_steps=500,
    reward_threshold=475.0,
)
