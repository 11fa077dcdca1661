"""How long episodes take, by a clock that the test moves."""

import gymnasium as gym
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from yieldrl.collectors import pace
from yieldrl.collectors.pace import Pace


class Clock:
    """A clock that stands still but where something takes time."""

    now = 0.0

    def monotonic(self):
        return self.now


class Slow(gym.Env):
    """Takes 5 s to be made, 2 s to begin, 0.25 s a step."""

    observation_space = gym.spaces.Box(-1, 1, (1,))
    action_space = gym.spaces.Discrete(2)

    def __init__(self):
        Clock.now += 5

    def reset(self, *, seed=None, options=None):
        Clock.now += 2
        return self.observation_space.low, {}

    def step(self, action):
        Clock.now += 0.25
        return self.observation_space.low, 0.0, False, False, {}


class Thinks:
    """Takes half a second to decide."""

    def predict(self, obs):
        Clock.now += 0.5
        return [1]


def make():
    spec = gym.envs.registration.EnvSpec(
        "Slow-v0", Slow, max_episode_steps=40, disable_env_checker=True
    )
    mode = AutoresetMode.SAME_STEP
    return SyncVectorEnv([lambda: gym.make(spec)], autoreset_mode=mode)


def test_what_is_timed(monkeypatch):
    monkeypatch.setattr(pace, "time", Clock())
    monkeypatch.setattr(Clock, "now", 0.0)
    found = Pace.of(Thinks(), make, seed=0)
    assert found == Pace(making=7, beginning=2, deciding=0.75, decisions=40)
    assert found.episode == 2 + 40 * 0.75
    assert found._replace(decisions=None).episode == 2 + 1_000 * 0.75


def test_the_policy_and_its_environments_are_as_they_were():
    """Timing takes nothing of what is played afterwards."""
    envs = gym.make_vec("yieldrl/GoTo-v1", num_envs=1)
    expected, _ = envs.reset(seed=3)

    class North:
        def predict(self, obs):
            return torch.zeros(1, dtype=torch.int64)

    Pace.of(North(), lambda: envs, seed=7)
    found, _ = envs.reset(seed=3)
    assert torch.equal(found["image"], expected["image"])
