"""SerialVectorEnv: Gymnasium's SyncVectorEnv, step by step, only faster."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from worlds import Counter, Odd, Reusing

from yieldrl.envs import SerialVectorEnv
from yieldrl.envs.processes import WorkerEnv


class Wanderer(gym.Env[Any, int]):
    """A random walk with nested observations that ends, one way or the other, soon."""

    observation_space = Dict(
        place=Box(-np.inf, np.inf, (2,)),
        more=Dict(
            picture=Box(0, 255, (2, 2, 1), np.uint8), room=Discrete(10, start=-4)
        ),
    )
    action_space = Discrete(3, start=-1)

    def __init__(self):
        self.place = np.zeros(2, np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.normal(size=2).astype(np.float32)
        return self.observe(), {"success": False, "reset": True}

    def step(self, action):
        self.place = self.place + np.float32(action)
        self.place += self.np_random.normal(size=2).astype(np.float32)
        far, late = abs(self.place[0]) > 4, abs(self.place[1]) > 4
        info = {"success": bool(far), "distance": float(self.place[0])}
        return self.observe(), self.place[1], bool(far), bool(late), info

    def observe(self):
        number = int(np.clip(round(float(self.place[0])), -4, 5))
        picture = np.full((2, 2, 1), number + 4, np.uint8)
        return {"place": self.place, "more": {"picture": picture, "room": number}}


MAKERS = {
    "CartPole": lambda: gym.make("CartPole-v1", max_episode_steps=12),
    "Dict": Wanderer,
    "Discrete": lambda: gym.make("FrozenLake-v1", max_episode_steps=6),
}


def assert_same(serial, original, dtype=True):
    if isinstance(original, dict):
        assert not dtype or serial.keys() == original.keys()
        for name in original:
            assert_same(serial[name], original[name], dtype)
    else:
        np.testing.assert_array_equal(serial, original)
        assert not dtype or serial.dtype == original.dtype


def row(batch, i):
    """One environment's observation out of a batch."""
    if isinstance(batch, dict):
        return {name: row(child, i) for name, child in batch.items()}
    return batch[i]


@pytest.mark.parametrize("name", MAKERS)
def test_equals_gymnasiums_own_step_by_step(name):
    makers = [MAKERS[name]] * 3
    serial = SerialVectorEnv(makers)
    original = SyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP)
    assert serial.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    assert serial.observation_space == original.observation_space
    obs, _ = serial.reset(seed=7)
    assert_same(obs, original.reset(seed=7)[0])
    serial.action_space.seed(1)
    ended = 0
    for _ in range(60):
        action = serial.action_space.sample()
        before = obs
        obs, *flags, info = serial.step(action)
        expected, *expected_flags, expected_info = original.step(action)
        assert_same(obs, expected)
        for got, wanted in zip(flags, expected_flags, strict=True):
            assert_same(got, wanted)
        assert ("final_obs" in info) == ("final_obs" in expected_info)
        assert obs is not before
        if "final_obs" not in info:
            continue
        assert_same(info["_final_obs"], expected_info["_final_obs"])
        assert_same(info["_final_obs"], flags[1] | flags[2])
        for i in range(3):
            # Dense: where no episode ended it is the next observation itself.
            at_end = info["_final_obs"][i]
            wanted = expected_info["final_obs"][i] if at_end else row(obs, i)
            assert_same(row(info["final_obs"], i), wanted, dtype=False)
        ended += info["_final_obs"].sum()
    assert ended > 3


class ReusingDict(Reusing):
    def __init__(self):
        super().__init__()
        self.observation_space = Dict(a=self.observation_space)

    def _obs(self):
        return {"a": super()._obs()}


@pytest.mark.parametrize("env_class", [Reusing, ReusingDict])
def test_observations_written_in_place_survive_resets_and_steps(env_class):
    """Else `final_obs` would silently be the first observation of the next episode."""
    envs = SerialVectorEnv([env_class] * 2)
    held = [envs.reset(seed=0)[0]]
    for _ in range(3):
        obs, *_, info = envs.step(np.zeros(2, np.int64))
        held.append(info.get("final_obs", obs))
    held = [obs["a"] if isinstance(obs, dict) else obs for obs in [*held, obs]]
    steps = [[0, 0], [0, 1], [0, 2], [0, 3], [1, 0]]
    assert [obs.tolist() for obs in held] == [[step] * 2 for step in steps]


def test_an_environment_may_write_into_its_action_but_not_into_the_callers():
    class Scaling(Counter):
        def __init__(self):
            super().__init__()
            self.action_space = Box(-1, 1, (1,))

        def step(self, action):
            action *= 2
            return super().step(action[0])

    envs, actions = SerialVectorEnv([Scaling] * 2), np.ones((2, 1), np.float32)
    envs.reset(seed=0)
    envs.step(actions)
    assert actions.tolist() == [[1], [1]]


def test_info_keys_are_those_of_the_step_even_at_an_episodes_end():
    """Success shows in the last step's info, which the reset must not hide."""
    envs, watched = SerialVectorEnv([Declaring]), Wanderer()
    envs.reset(seed=3)
    watched.reset(seed=3)
    successes = 0
    for _ in range(40):
        _, _, _, _, info = envs.step(np.array([1]))
        _, _, terminated, truncated, expected = watched.step(1)
        assert info["success"].tolist() == [expected["success"]]
        assert info["distance"].tolist() == [expected["distance"]]
        successes += expected["success"]
        if terminated or truncated:
            watched.reset()
    assert successes > 0


class Declaring(Wanderer):
    info_keys = ("success", "distance")
    recorded_info = ("distance",)


def test_environments_say_themselves_which_infos_pass():
    class Silent(Wanderer):
        recorded_info = ("progress",)

    envs = SerialVectorEnv([lambda: gym.wrappers.TimeLimit(Declaring(), 9)] * 2)
    assert envs.recorded_info == ("distance",)
    assert envs.info_keys == ("success", "distance")
    envs.reset(seed=0)
    info = envs.step(np.array([0, 0]))[4]
    assert info["success"].dtype == bool
    assert info["distance"].shape == (2,)
    assert SerialVectorEnv([Wanderer]).recorded_info == ()
    envs = SerialVectorEnv([Silent])
    envs.reset(seed=0)
    with pytest.raises(KeyError, match=r"environment 0, .* lacks 'progress'"):
        envs.step(np.array([0]))
    envs = SerialVectorEnv([Wanderer] * 2)  # no others are merged, but for these
    envs.reset(seed=0)
    keys = set()
    for _ in range(30):
        info = envs.step(np.array([0, 0]))[4]
        keys |= set(info)
        assert set(info.get("final_info", {})) <= {"success", "_success"}
    assert keys == {"final_obs", "_final_obs", "final_info", "_final_info"}
    Silent.recorded_info = "progress"  # no tuple of names
    with pytest.raises(TypeError, match=r"recorded_info of .* give a tuple, \('prog"):
        SerialVectorEnv([Silent])


@pytest.mark.parametrize("name", ["terminated", "truncated"])
def test_what_holds_one_flag_is_taken(name):
    """A list of False is true to Python, and would end an episode in each step."""
    for flag in (False, True):
        wrapped = np.array([flag]), torch.tensor([flag]), [flag], int(flag)
        for value in (*wrapped, np.bool_(flag), np.float32(flag)):
            envs = SerialVectorEnv([lambda value=value: Odd(**{name: value})])
            envs.reset(seed=0)
            _, reward, terminated, truncated, info = envs.step([0])
            assert (reward.tolist(), reward.dtype) == ([1.5], np.float64)
            flags = {"terminated": terminated, "truncated": truncated}
            assert flags.pop(name).tolist() == [flag]
            assert not flags.popitem()[1]
            assert ("final_obs" in info) == flag


@pytest.mark.parametrize("value", ["False", np.nan, np.array([1, 0])])
def test_flags_that_are_none_are_refused(value):
    for name in ("terminated", "truncated"):
        env = Odd(**{name: value})
        envs = SerialVectorEnv([Odd, lambda env=env: env])
        envs.reset(seed=0)
        for step in (envs.step, WorkerEnv(env, 1).step):
            with pytest.raises(ValueError, match=rf"{PLACE} 1 returned .*{name}"):
                step([0, 0])


NESTED = Dict(a=Box(-1, 1, (3,)))
PLACE = r"environment 1, <.*Odd.*>, at step"
SHORT = np.zeros(1, np.float32)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"reset": None}, rf"reset\(\) of {PLACE} 0 must .*got tuple of 2"),
        ({"info": None}, rf"step\(\) of {PLACE} 1 must return .*got tuple of 4"),
        ({"reward": "much"}, rf"{PLACE} 1 returned the reward 'much': must be one"),
        ({"since": 2, "obs": SHORT}, rf"{PLACE} 2 .* of shape \(1,\), not \(3,\)"),
        ({"space": NESTED, "obs": {"b": SHORT}}, rf"{PLACE} 1 .*Dict of \['a'\]"),
        ({"space": NESTED, "obs": {"a": SHORT}}, rf"{PLACE} 1 .*\['a'\] of shape"),
    ],
)
def test_what_cannot_be_taken_is_refused_by_name(said, message):
    space = {"space": said["space"]} if "space" in said else {}
    envs = SerialVectorEnv([lambda: Odd(**space), lambda: Odd(**said)])

    def play():
        envs.reset(seed=0)
        for _ in range(2):
            envs.step([0, 0])

    with pytest.raises((TypeError, ValueError), match=message):
        play()


def test_answers_that_are_all_wrong_alike_are_refused():
    """NumPy alone would broadcast such observations, and not complain."""
    envs = SerialVectorEnv([lambda: Odd(obs=SHORT)] * 2)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=r"environment 0, .* of shape"):
        envs.step([0, 0])
    with pytest.raises(ValueError, match="shorter"):
        SerialVectorEnv([Wanderer] * 2).step(np.array([0]))


def test_a_mask_resets_some_and_shows_where_the_others_are():
    makers = [MAKERS["CartPole"]] * 3
    serial = SerialVectorEnv(makers)
    original = SyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP)
    for envs in (serial, original):
        envs.reset(seed=3)
        envs.step([0, 1, 0])
    mask = np.array([False, True, False])
    answers = [
        envs.reset(seed=[1, 2, 3], options={"reset_mask": mask})
        for envs in (serial, original)
    ]
    assert_same(answers[0][0], answers[1][0])
    with pytest.raises(ValueError, match="length must match num_envs=3"):
        serial.reset(seed=[1, 2])


def test_at_an_episodes_end_its_task_is_handed_on():
    """So that `success_rate/NAME` of each task is known of episodes without success."""
    said = [
        {"task": "open", "success": True},
        {"task": 3},
        {"task": {"is_success": np.array([1.0])}},
        {"task": None},
        {},
    ]
    envs = SerialVectorEnv([lambda each=each: Odd(ends=2, info=each) for each in said])
    envs.reset(seed=0)
    assert envs.step([0] * 5)[4] == {}
    info = envs.step([0] * 5)[4]
    final = info["final_info"]
    assert final["task"].tolist() == ["open", "3", None, None, None]
    assert final["_task"].tolist() == [True, True, False, False, False]
    assert final["success"].tolist() == [True, False, True, False, False]
    assert final["_success"].tolist() == [True, False, True, False, False]
    assert info["_final_info"].all()
