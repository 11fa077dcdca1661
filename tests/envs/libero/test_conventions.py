"""A script's actions do their task in the numbers that models were trained to say."""

import gymnasium as gym
import numpy as np
import pytest
import torch

from yieldrl.benchmarks.experts.libero import LiberoExpert
from yieldrl.vla import action_layout
from yieldrl.vla.statistics import action_statistics

LOW = np.array([-0.75, -0.66, -0.94, -0.11, -0.21, -0.19])
HIGH = np.array([0.94, 0.89, 0.93, 0.13, 0.19, 0.33])
"""About the quantiles of LIBERO's own demonstrations."""

ENTRY = {"q01": [*LOW, 0.0], "q99": [*HIGH, 1.0], "mask": [True] * 6 + [False]}


def in_openvla(action):
    """As its `libero_dataset_transform` and its loader have it: 1 opens, 0 closes."""
    scaled = 2 * (action[:6] - LOW) / (HIGH - LOW) - 1
    return np.append(scaled.clip(-1, 1), 1 - action[6].clip(0, 1))


def numbers_of(space):
    """What makes an action of numbers that OpenVLA says."""
    units = action_statistics(space, action_layout(space))
    units.from_openvla({"libero_spatial_no_noops": {"action": ENTRY}}, None, "action")
    return lambda said: units.denormalize(torch.tensor(said).float()).numpy()


def test_an_action_survives_the_way_through_its_numbers():
    from_numbers = numbers_of(gym.spaces.Box(-1, 1, (7,), np.float32))
    for gripper in (-1, 1):
        action = np.append(0.5 * LOW + 0.5 * HIGH, gripper)
        assert from_numbers(in_openvla(action)) == pytest.approx(action, abs=1e-6)


@pytest.fixture(scope="module")
def env(installed):
    task = {"suite": "libero_spatial", "task": 2, "cameras": ()}
    env = gym.make("yieldrl/LIBERO-v1", **task)
    yield LiberoExpert(env)
    env.close()


def test_the_script_succeeds_in_the_numbers_of_openvla(env):
    """Other models' units are compared with their own code's in tests/vla."""
    from_numbers = numbers_of(env.action_space)
    env.reset(seed=0)
    success, steps = False, 0
    while not success and steps < 110:
        *_, info = env.step(from_numbers(in_openvla(env.expert())))
        success, steps = info["success"], steps + 1
    assert success


def test_the_gripper_takes_the_sign_alone(env):
    """So that a policy's own number, which its densities need, is as good."""
    ends = []
    for scale in (1.0, 0.01):
        obs, _ = env.reset(seed=0)
        for sign in (1, 1, 1, 0, 0, -1):
            obs, *_ = env.step(np.array([*[0.1] * 6, scale * sign], np.float32))
        ends.append(obs["objects"].tolist() + obs["proprio"].tolist())
    assert ends[0] == ends[1]
