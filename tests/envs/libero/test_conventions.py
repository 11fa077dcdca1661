"""A script's actions do their task in the numbers that models were trained to say."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Dict

from yieldrl.vla import VLAConfig, VLAPolicy

pytest.importorskip(
    "transformers", reason="transformers is not installed: yieldrl[vla]"
)

LOW = np.array([-0.75, -0.66, -0.94, -0.11, -0.21, -0.19])
HIGH = np.array([0.94, 0.89, 0.93, 0.13, 0.19, 0.33])
"""About the quantiles of LIBERO's own demonstrations."""

ENTRY = {"q01": [*LOW, 0.0], "q99": [*HIGH, 1.0], "mask": [True] * 6 + [False]}


def in_openvla(action):
    """As its `libero_dataset_transform` and its loader have it: 1 opens, 0 closes."""
    scaled = 2 * (action[:6] - LOW) / (HIGH - LOW) - 1
    return np.append(scaled.clip(-1, 1), 1 - action[6].clip(0, 1))


class Entries:
    """Logits of one bin after the other, in place of a network's."""

    def __init__(self, policy, digitized):
        policy.model.backbone.logits = self
        self.size, self.digitized = policy.model.backbone.vocab_size, digitized

    def say(self, numbers):
        self.ids = list(self.digitized(numbers))

    def __call__(self, hidden):
        logits = torch.zeros(*hidden.shape[:2], self.size)
        for k in range(hidden.shape[1]):
            logits[0, k, self.ids.pop(0)] = 1e4
        return logits


def openvla(env, folder):
    """A policy that reads no camera, and what makes it say an action."""
    from vla_folders import openvla_backbone, write_json, write_openvla

    write_openvla(folder, source := openvla_backbone())
    entry = {"libero_spatial_no_noops": {"action": ENTRY}}
    write_json(folder / "dataset_statistics.json", entry)
    felt = Dict(proprio=env.observation_space["proprio"])
    config = VLAConfig(model_path=str(folder))
    policy = VLAPolicy.from_config(felt, env.action_space, config)
    size, edges = source.vocab_size, np.linspace(-1, 1, 33)
    entries = Entries(policy, lambda numbers: size - np.digitize(numbers, edges))
    return policy, lambda action: entries.say(in_openvla(action))


@pytest.fixture(scope="module")
def env(installed):
    task = {"suite": "libero_spatial", "task": 2, "cameras": ()}
    env = gym.make("yieldrl/LIBERO-v1", **task)
    yield env
    env.close()


def test_the_script_succeeds_in_the_numbers_of_openvla(env, tmp_path):
    """Other models' units are compared with their own code's in tests/vla."""
    policy, say = openvla(env, tmp_path)
    obs, _ = env.reset(seed=0)
    success, steps = False, 0
    while not success and steps < 110:
        say(env.unwrapped.expert())
        seen = {"proprio": torch.as_tensor(obs["proprio"])[None]}
        with torch.no_grad():
            action, *_ = policy(seen, deterministic=True)
        obs, *_, info = env.step(action[0].numpy())
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
