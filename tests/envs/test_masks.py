"""ActionMask, EncodeText, and wrappers named in the config."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text
from gymnasium.utils.env_checker import check_env

from yieldrl.core import Config, Utf8Text
from yieldrl.core.text import decode
from yieldrl.envs import ActionMask, EncodeText, make, make_eval
from yieldrl.envs.classic_control import CartPoleVectorEnv

VECTOR = Box(-1, 1, (2,), np.float32)


class Scripted(gym.Env):
    """Its masks are those of a list, one after the other; the last one ends it."""

    def __init__(self, masks, space=Discrete(3), terminates=True, source="info"):  # noqa: B008
        self.masks, self.terminates, self.source = masks, terminates, source
        self.action_space, self.observation_space = space, VECTOR
        if source == "obs":
            mask = Box(0, 1, (len(masks[0]),), np.int8)
            self.observation_space = Dict(place=VECTOR, speed=VECTOR, action_mask=mask)
        if source == "method":
            self.action_masks = lambda: self.masks[self.number]
        self.number = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.number = 0
        return self.observe()

    def step(self, action):
        self.number += 1
        ended = self.terminates and self.number == len(self.masks) - 1
        obs, info = self.observe()
        return obs, 0.0, ended, False, info

    def observe(self):
        here, mask = np.zeros(2, np.float32), np.array(self.masks[self.number])
        if self.source == "obs":
            here = {"place": here, "speed": here, "action_mask": mask.astype(np.int8)}
        return here, {"action_mask": mask} if self.source == "info" else {}


@pytest.mark.parametrize("source", ["info", "method", "obs"])
def test_three_ways_to_tell(source):
    masks = [[1, 0, 1], [0, 1, 0], [1, 1, 1]]
    env = ActionMask(Scripted(masks, source=source))
    obs, _ = env.reset()
    for mask in masks[1:]:
        assert env.observation_space.contains(obs)
        assert obs["action_mask"].dtype == np.bool_
        obs, *_ = env.step(0)
        assert obs["action_mask"].tolist() == [bool(x) for x in mask]
        assert env.action_masks().tolist() == obs["action_mask"].tolist()
    rest = {"place", "speed"} if source == "obs" else {"observation"}
    assert set(obs) == {*rest, "action_mask"}


@pytest.mark.filterwarnings("ignore:.*different from the unwrapped version")
def test_taxi_follows_the_interface_of_gymnasium():
    env = ActionMask(gym.make("Taxi-v4"))
    check_env(env, skip_render_check=True)
    obs, info = env.reset(seed=3)
    assert obs["action_mask"].tolist() == info["action_mask"].astype(bool).tolist()


@pytest.mark.parametrize("source", ["info", "obs"])
def test_no_possible_action_is_an_error_while_the_episode_goes_on(source):
    masks = [[1, 0, 1], [0, 0, 0], [1, 1, 1]]
    env = ActionMask(Scripted(masks, source=source))
    env.reset()
    with pytest.raises(ValueError, match=r"mask \[0 0 0\] of .* must terminate"):
        env.step(0)
    at_the_end = ActionMask(Scripted(masks[:2], source=source))
    at_the_end.reset()
    obs, _, terminated, *_ = at_the_end.step(0)
    assert terminated
    assert not obs["action_mask"].any()


@pytest.mark.parametrize("space", [MultiDiscrete([2, 3]), MultiDiscrete([[2], [3]])])
def test_every_choice_needs_a_possible_option(space):
    fine, stuck = [1, 0, 0, 0, 1], [1, 1, 0, 0, 0]
    env = ActionMask(Scripted([fine, stuck, fine], space))
    obs, _ = env.reset()
    assert obs["action_mask"].tolist() == [True, False, False, False, True]
    with pytest.raises(ValueError, match=r"leaves no action possible"):
        env.step(space.sample())
    buttons = ActionMask(Scripted([[1, 0, 1, 1]] * 3, MultiBinary(2)))
    assert buttons.reset()[0]["action_mask"].tolist() == [True, False, True, True]


def test_what_is_no_mask_is_refused():
    with pytest.raises(ValueError, match=r"shape \(2,\); for .*3.* it must be \(3,\)"):
        ActionMask(Scripted([[1, 0]])).reset()
    with pytest.raises(ValueError, match=r"nowhere which actions are possible"):
        ActionMask(gym.make("FrozenLake-v1")).reset()
    with pytest.raises(TypeError, match="are no choices"):
        ActionMask(gym.make("Pendulum-v1"))


CONFIG = Config(wrappers=("yieldrl.envs:ActionMask",), num_envs=2, eval_episodes=2)


class Always(Scripted):
    def __init__(self):
        super().__init__([[1, 0, 1]] * 9)


def test_it_goes_around_anything_that_makes_one():
    sources = [Always(), lambda: Always(), Always, gym.make("Taxi-v4")]
    for source in sources:
        envs = make(source, CONFIG)
        assert len(envs.reset(seed=0)[0]["action_mask"]) == envs.num_envs
        if source is not sources[0]:
            envs = make_eval(source, CONFIG)
            assert len(envs.reset(seed=0)[0]["action_mask"]) == 2
    envs = make_eval(ActionMask(gym.make("Taxi-v4")), CONFIG)  # which has one already
    assert envs.single_observation_space["observation"] == Discrete(500)


def test_no_wrapper_of_single_environments_goes_around_a_batch():
    kwargs = {"autoreset_mode": gym.vector.AutoresetMode.SAME_STEP}
    envs = gym.make_vec("Taxi-v4", num_envs=2, vector_kwargs=kwargs)
    assert make(envs, CONFIG) is envs
    assert make_eval(envs, CONFIG).single_observation_space == Discrete(500)
    for source in ("yieldrl/CartPole-v1", CartPoleVectorEnv):
        with pytest.raises(ValueError, match=r"ActionMask.*CartPole.*wrappers=\(\)"):
            make(source, CONFIG)


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
    envs = make(Speaker, Config(num_envs=3))
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
