"""Every world of tensors is also one plain environment of Gymnasium."""

import copy
import re
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from worlds import BUILT_IN

from yieldrl.envs.single import SingleEnv

ROBOT = re.compile("Hopper|Cheetah|Walker|Ant-|Humanoid|InvertedPendulum")


def check_single(env_id):
    env = gymnasium.make(env_id)
    assert isinstance(env.unwrapped, SingleEnv)
    assert env.spec is not None
    limit = env.spec.max_episode_steps
    batch = gymnasium.make_vec(env_id, num_envs=1).unwrapped
    assert limit == batch.max_episode_steps
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of infinite bounds
        check_env(env.unwrapped, skip_render_check=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*within the observation space", UserWarning)
        env.action_space.seed(0)
        obs, _ = env.reset(seed=0)
        for _ in range(5):
            assert env.observation_space.contains(obs)
            obs, *answer, info = env.step(env.action_space.sample())
            assert [type(x) for x in answer] == [float, bool, bool]
            assert not any(np.shape(x)[:1] == (1,) for x in info.values())
            if answer[1]:
                obs, _ = env.reset()
    env.close()


@pytest.mark.parametrize("robots", [False, True])
def test_every_world_passes_gymnasiums_checker(robots):
    if robots:
        pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    for env_id in BUILT_IN:
        if bool(ROBOT.search(env_id)) == robots:
            check_single(env_id)


def test_it_is_the_batch_of_one():
    env = gymnasium.make("yieldrl/Taxi-v1")
    batch = gymnasium.make_vec("yieldrl/Taxi-v1", num_envs=1)
    one, (many, _) = env.reset(seed=3)[0], batch.reset(seed=3)
    for action in (0, 1, 2, 3, 4, 5):
        assert one == many[0]
        one, reward, *_, info = env.step(action)
        many, rewards, *_, infos = batch.step([action])
        assert reward == rewards[0]
        assert np.array_equal(info["action_mask"], infos["action_mask"][0])
    assert batch.get_attr("spec")[0].id == env.spec.id


def test_pictures_and_copies():
    env = gymnasium.make("yieldrl/TMaze-v1", render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert picture.dtype == np.uint8
    other = copy.deepcopy(env.unwrapped)
    env.step(1)
    again = other.render()
    assert np.array_equal(again, picture)
    assert not np.array_equal(env.render(), picture)
