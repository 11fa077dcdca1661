"""Worlds of tensors are stepped on another device, and no step waits for it."""

import gymnasium
import pytest
import torch
from simulated.device import DEVICE, WAITS, SimTensor

from yieldrl.envs.arrays import leaves

ROBOTS = ("Ant", "HalfCheetah", "Hopper", "Humanoid", "InvertedPendulum", "Walker2d")
WORLDS = [
    name
    for name, spec in gymnasium.registry.items()
    if name.startswith("yieldrl/")
    and spec.vector_entry_point
    and not any(robot in name for robot in ROBOTS)  # Warp steps these, on CUDA alone
]


@pytest.mark.parametrize("name", WORLDS)
def test_a_step_waits_for_nothing(name):
    envs = gymnasium.make_vec(name, num_envs=4, device=str(DEVICE))
    obs, _ = envs.reset(seed=0)
    envs.action_space.seed(1)
    actions = [torch.as_tensor(envs.action_space.sample()) for _ in range(40)]
    actions = [action.to(DEVICE) for action in actions]
    WAITS.clear()
    for action in actions:
        obs, *_ = envs.step(action)
    assert WAITS == []
    assert all(isinstance(leaf, SimTensor) for leaf in leaves(obs))
