"""Data sets of Minari: what is written is read again, and others' are read too."""

import sys

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Text
from gymnasium.vector.utils import batch_space

from yieldrl.buffers import Demonstrations, read_dataset, write_dataset
from yieldrl.core.text import Utf8Text

minari = pytest.importorskip("minari", reason="its data sets need minari")
EpisodeBuffer = pytest.importorskip("minari.data_collector").EpisodeBuffer

ROBOT = Dict(
    rgb=Box(0, 255, (40, 40, 3), np.uint8),  # large enough for Minari to compress it
    proprio=Box(-np.inf, np.inf, (2,), np.float32),
    language=Utf8Text(12),
    more=Dict(depth=Box(0, 1, (3, 3, 1), np.float32)),
)
VECTOR = Box(-1, 1, (3,), np.float32)


def random_demonstrations(observed, acted, steps=7, num_envs=2):
    """Of whatever the spaces hold, with ends of every kind."""
    buffer = Demonstrations(steps, observed, acted, num_envs=num_envs)
    seen, done = (batch_space(one, num_envs) for one in (observed, acted))
    obs = seen.sample()
    for t in range(steps):
        next_obs = seen.sample()
        flags = {"terminated": [t == 2] * num_envs, "truncated": [t == 4] * num_envs}
        reward = np.random.default_rng(t).normal(size=num_envs)
        step = {"obs": obs, "next_obs": next_obs, "action": done.sample()}
        buffer.add({**step, "reward": reward, **flags})
        obs = seen.sample() if t in (2, 4) else next_obs
    return buffer


def equal(one, two):
    one, two = one.flatten_keys(), two.flatten_keys()
    same = all(one[k].dtype == two[k].dtype for k in one.keys())  # noqa: SIM118
    return one.keys() == two.keys() and same and (one == two).all()


@pytest.mark.parametrize(
    ("observed", "acted"),
    [
        (ROBOT, Box(-1, 1, (2,), np.float32)),
        (VECTOR, MultiDiscrete([2, 5])),
        (Discrete(4), Discrete(3, start=1)),
    ],
)
def test_a_round_trip_is_exact(observed, acted, tmp_path):
    written = random_demonstrations(observed, acted)
    folder = write_dataset(tmp_path / "random-v0", written)
    data = read_dataset(folder, observed, acted)
    assert data.full
    assert data.rollout().batch_size == (14, 1)
    pairs = list(zip(written.episodes(), data.episodes(), strict=True))
    assert [len(a) for a, _ in pairs] == [3, 2, 2, 3, 2, 2]
    for before, after in pairs:
        cut = ~before["terminated"][-1] & ~before["truncated"][-1]
        before = before.clone()
        before["truncated"][-1] |= cut
        assert equal(before, after)
    again = read_dataset(write_dataset(tmp_path / "again", data))
    assert equal(again.rollout(), data.rollout())


def test_minari_finds_it_by_its_name(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    spec = gym.spec("CartPole-v1")
    demonstrations = random_demonstrations(Box(-9, 9, (4,), np.float32), Discrete(2))
    write_dataset(tmp_path / "cart-v3", demonstrations, env_spec=spec)
    data = minari.load_dataset("cart-v3")
    assert (data.id, data.total_steps, data.total_episodes) == ("cart-v3", 14, 6)
    assert isinstance(data.recover_environment().unwrapped, gym.Env)
    assert len(read_dataset("cart-v3")) == 14


def store(folder, observed, acted, episodes):
    """As Minari's collector stores episodes."""
    storage = minari.dataset.minari_storage.MinariStorage.new(folder, observed, acted)
    for number, parts in enumerate(episodes):
        storage.update_episodes([EpisodeBuffer(id=number, **parts)])
    version = {"dataset_id": "others-v0", "minari_version": minari.__version__}
    storage.update_metadata(version)


def test_one_of_others_is_read(tmp_path):
    """As Minari's collector stores episodes: one more observation, float64 rewards."""
    folder = tmp_path / "others"
    env = gym.make("CartPole-v1")
    spaces = env.observation_space, env.action_space
    lengths, episodes = [], []
    for number in range(3):
        observations, actions = [env.reset(seed=number)[0]], []
        rewards, ends = [], []
        while not any(ends):
            actions.append(np.int64(number % 2))
            obs, reward, terminated, *_ = env.step(actions[-1])
            observations.append(obs)
            rewards.append(reward)
            ends.append(terminated)
        flags = {"terminations": ends, "truncations": [False] * len(ends)}
        parts = {"observations": observations, "actions": actions, "rewards": rewards}
        episodes.append({**parts, **flags})
        lengths.append(len(ends))
    store(folder, *spaces, episodes)
    data = read_dataset(folder, *spaces, chunk_length=4)
    assert data.statistics() == {
        "episode_return": sum(lengths) / 3,
        "episode_length": sum(lengths) / 3,
        "episodes": 3.0,
    }
    rollout = data.rollout()
    assert rollout["reward"].dtype == torch.float32
    env.reset(seed=0)
    first = env.step(0)[0]
    assert torch.equal(rollout["next_obs"][0, 0], torch.from_numpy(first))
    assert torch.equal(rollout["obs"][1, 0], torch.from_numpy(first))


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("observations", "it has 4 actions and 4 observations, and needs 5"),
        ("rewards", "reward"),
    ],
)
def test_an_episode_that_is_not_whole_is_named(column, said, tmp_path):
    space, choices = Box(-1, 1, (2,), np.float64), Discrete(2)
    whole = {"observations": [np.zeros(2)] * 5, "actions": [np.int64(0)] * 4}
    whole |= {"terminations": [False] * 4, "truncations": [False] * 4}
    whole["rewards"] = [0.0] * 4
    store(tmp_path, space, choices, [whole, {**whole, column: whole[column][1:]}])
    with pytest.raises(ValueError, match=f"{tmp_path.name}, episode 1: .*{said}"):
        read_dataset(tmp_path, space, choices)


def test_other_data_is_refused_and_nothing_is_overwritten_or_left_of_a_failure(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    for name in ("nothing-v0", "no id at all", str(tmp_path)):
        with pytest.raises(FileNotFoundError, match="neither a folder with a Min"):
            read_dataset(name)
    demonstrations = random_demonstrations(VECTOR, Discrete(3))
    folder = write_dataset(tmp_path / "x", demonstrations)
    with pytest.raises(FileExistsError, match="is there already"):
        write_dataset(folder, demonstrations)
    with pytest.raises(ValueError, match="observations of the data set are"):
        read_dataset(folder, Box(-1, 1, (4,), np.float32))
    with pytest.raises(ValueError, match="actions of the data set are of Discrete"):
        read_dataset(folder, VECTOR, Discrete(4))
    demonstrations.action_space = Text(3)
    with pytest.raises(Exception, match=r"dtype|Text|str"):
        write_dataset(tmp_path / "y", demonstrations)
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(ImportError, match=r"pip install 'yieldrl\[minari\]'"):
        read_dataset(tmp_path)
