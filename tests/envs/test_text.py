"""Environments that say something can be trained in as they are."""

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Text

from yieldrl import envs as environments
from yieldrl.core import Config, Utf8Text
from yieldrl.core.text import decode
from yieldrl.envs import EncodeText


class Speaker(gym.Env):
    """Says whether the first or the second action is rewarded."""

    def __init__(self):
        light = Box(0, 1, (1,), np.float32)
        self.observation_space = Dict(light=light, mission=Text(8))
        self.action_space = Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.goal = int(self.np_random.integers(2))
        mission = ["left", "right"][self.goal]
        return {"light": np.ones(1, np.float32), "mission": mission}, {}

    def step(self, action):
        reward = float(action == self.goal)
        return self.reset()[0], reward, True, False, {}


def test_text_becomes_bytes():
    envs = environments.make(Speaker, Config(num_envs=3))
    said = envs.single_observation_space["mission"]
    assert isinstance(said, Utf8Text)
    assert said.max_bytes == 8
    obs, _ = envs.reset(seed=0)
    assert set(decode(obs["mission"])) <= {"left", "right"}
    obs, _, _, _, info = envs.step(np.zeros(3, np.int64))
    assert obs["mission"].shape == info["final_obs"]["mission"].shape == (3, 8)
    wide = Speaker()
    wide.observation_space = Text(3, charset="aß漢")
    assert EncodeText(wide).observation_space.max_bytes == 9
