"""Several tasks in one batch."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from yieldrl import envs as environments
from yieldrl.core import Config
from yieldrl.core.text import decode
from yieldrl.envs.libero import LiberoEnvChunk, LiberoEnvWrapper, tasks_of
from yieldrl.envs.wrappers.chunks import longest_episode

SUITE = "libero_object"


@pytest.fixture(scope="module")
def batch(painted):
    kwargs = {"suite": SUITE, "task": [4, 7], "size": 32, "cameras": ["agentview"]}
    config = Config(num_envs=2, env_kwargs={**kwargs, "waiting_steps": 1})
    envs = environments.make("yieldrl/LIBERO-v1", config)
    yield envs
    envs.close()


def test_each_environment_plays_its_own_task(batch):
    obs, info = batch.reset(seed=0)
    assert info["task"].tolist() == [4, 7]
    assert info["initial_state"].tolist() == [0, 0]
    assert longest_episode(batch) == 280
    tasks = tasks_of(SUITE)
    assert decode(obs["language"]) == [tasks[4].sentence, tasks[7].sentence]
    pictures = obs["rgb"]["agentview"].copy()
    assert not np.array_equal(*pictures)
    # Each paints with its own context, also after the other one did, in any thread.
    with ThreadPoolExecutor(1) as pool:
        first, _ = pool.submit(batch.envs[0].reset, seed=0).result()
    np.testing.assert_array_equal(first["rgb"]["agentview"], pictures[0])


def test_pictures_without_shadows(batch):
    """The same things at the same places, in other colours."""
    obs, _ = batch.reset(seed=0)
    kwargs = {"suite": SUITE, "task": 4, "size": 32, "waiting_steps": 1}
    cameras = batch.envs[0].unwrapped.cameras
    rough = LiberoEnvWrapper(
        **kwargs, cameras=cameras, shadows=False, render_mode="rgb_array"
    )
    other, _ = rough.reset(seed=0)
    np.testing.assert_array_equal(other["proprio"], obs["proprio"][0])
    seen, expected = other["rgb"]["agentview"], obs["rgb"]["agentview"][0]
    assert 0 < np.abs(seen.astype(int) - expected).mean() < 20
    assert rough.render().shape == (512, 512, 3)
    rough.close()


def test_chunks_in_processes_equal_single_steps(installed):
    kwargs = {"suite": SUITE, "cameras": (), "waiting_steps": 0, "horizon": 5}
    envs = LiberoEnvChunk(2, length=3, task=None, **kwargs)
    single = environments.make(
        "yieldrl/LIBERO-v1", Config(num_envs=1, env_kwargs={**kwargs, "task": 1})
    )
    try:
        assert envs.action_space.shape == (2, 3, 7)
        envs.reset(seed=0)
        single.reset(options={"initial_state": 0}, seed=1)
        chunk = np.random.default_rng(0).uniform(-1, 1, (2, 3, 7)).astype(np.float32)
        obs, reward, *_, info = envs.step(chunk)
        for action in chunk[1]:
            alone, *_ = single.step(action[None])
        np.testing.assert_array_equal(obs["objects"][1], alone["objects"][0])
        assert info["num_steps"].tolist() == [3, 3]
        assert reward.tolist() == [0.0, 0.0]
        *_, truncated, info = envs.step(chunk)
        assert truncated.tolist() == [True, True]
        assert info["num_steps"].tolist() == [2, 2]
    finally:
        envs.close()
        single.close()
