"""Robots of other packages: the wrapper alone, and where they are, the tasks too."""

from __future__ import annotations

import importlib.util

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box

from yieldrl.algorithms import sac
from yieldrl.envs import make
from yieldrl.envs.robots import MetaWorld, PushT, scaled


class Table(gym.Env):
    """Draws goals as Meta-World does: by a generator that `reset` does not seed."""

    observation_space = Box(-9, 9, (39,), np.float64)
    action_space = Box(-1, 1, (4,), np.float32)

    def seed(self, seed):
        self._drawn = np.random.default_rng(seed)

    def reset(self, *, seed=None, options=None):
        obs = np.zeros(39)
        obs[36:] = self._drawn.normal(size=3)
        return obs, {}

    def step(self, action):
        return np.zeros(39), 2.0, False, True, {"success": 1.0}


def test_positions_are_in_decimetres():
    obs = np.arange(39.0)
    obs[11:14] = obs[29:32] = 0  # there is no second object
    got = scaled(obs)
    assert got.dtype == np.float32
    unchanged = [3, *range(7, 18), 21, *range(25, 36)]
    assert got[unchanged].tolist() == obs[unchanged].tolist()
    for at in (0, 4, 18, 22, 36):
        wanted = [10 * at, 10 * (at + 1) - 6, 10 * (at + 2) - 1.5]
        assert got[at : at + 3] == pytest.approx(wanted)


def test_a_seed_chooses_the_goal():
    env = MetaWorld(Table())
    first, second = (env.reset(seed=seed)[0] for seed in (1, 2))
    assert not np.array_equal(first, second)
    assert np.array_equal(env.reset(seed=1)[0], first)
    assert not np.array_equal(env.reset()[0], first)
    obs, *rest = env.step(env.action_space.sample())
    assert not obs.any()
    assert rest == [-8.0, False, True, {"success": 1.0}]


def test_other_observations_are_refused():
    with pytest.raises(ValueError, match="Meta-World's tasks 39"):
        MetaWorld(gym.make("CartPole-v1"))


class Pushing(gym.Env):
    """Its state is where it is sent, and so on, as that of Push-T."""

    observation_space = Box(0, 512, (5,), np.float64)
    action_space = Box(0, 512, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        return np.array([256.0, 0, 512, 384, np.pi / 2]), {}

    def step(self, action):
        return np.array([*action, 0, 0, np.pi]), 0.5, False, True, {"is_success": False}


def test_push_t_counts_in_halves_of_its_table():
    env = PushT(Pushing())
    obs, _ = env.reset(seed=0)
    assert obs == pytest.approx([0, -1, 1, 0.5, 1, 0], abs=1e-6)
    obs, *rest = env.step(np.array([0.25, -1], np.float32))
    assert obs == pytest.approx([0.25, -1, -1, -1, 0, -1], abs=1e-6)
    assert obs.dtype == np.float32
    assert rest == [0.5, False, True, {"is_success": False}]
    with pytest.raises(ValueError, match="Push-T's state is 5"):
        PushT(gym.make("CartPole-v1"))


REACH = {
    "env_id": "metaworld:Meta-World/MT1",
    "env_kwargs": {"env_name": "reach-v3", "seed": 1},
    "wrappers": ("yieldrl.envs.robots:MetaWorld",),
}
TASKS = [
    REACH,
    {
        "env_id": "gym_pusht:gym_pusht/PushT-v0",
        "wrappers": ("yieldrl.envs.robots:PushT",),
    },
    {
        "env_id": "gym_pusht:gym_pusht/PushT-v0",
        "env_kwargs": {"obs_type": "pixels_agent_pos"},
    },
    {"env_id": "gymnasium_robotics:FetchPush-v4"},
]


def config(task, **options):
    """Skips where the package of a task is missing."""
    package = task["env_id"].partition(":")[0]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"needs {package}: make robots")
    return sac.Config(**task, **options)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
class TestTasks:
    @pytest.mark.parametrize("task", TASKS)
    def test_they_are_learned_in_by_their_ids(self, task):
        """Three gradient steps, and an evaluation that says what succeeded."""
        small = {"hidden_sizes": (8,), "batch_size": 4, "speed": "eager"}
        steps = {"total_steps": 6, "learning_starts": 4, "buffer_size": 100}
        options = {**small, **steps, "eval_every": 0, "device": "cpu"}
        trainer = sac.Trainer(config(task, **options))
        for _ in trainer():
            pass
        assert trainer.agent.learn_step == 3
        assert 0 <= trainer.evaluate(1)["logs"]["success_rate"] <= 1

    def test_environments_of_a_batch_have_goals_of_their_own(self):
        settings = config(REACH, num_envs=3)
        goals = [make(settings.env_id, settings).reset(seed=5)[0] for _ in range(2)]
        assert np.array_equal(*goals)
        assert len({goal.tobytes() for goal in goals[0][:, 36:]}) == 3

    def test_without_the_wrapper_they_have_the_same(self):
        """So that it is said when a later version heeds seeds."""
        settings = config({**REACH, "wrappers": ()}, num_envs=3)
        obs = make(settings.env_id, settings).reset(seed=5)[0]
        assert np.array_equal(obs[0], obs[1])
