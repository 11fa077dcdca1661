"""Evaluated in actors, a policy has the numbers that it has in process."""

import dataclasses
import os
import signal
from contextlib import suppress
from functools import partial

import gymnasium as gym
import numpy as np
import pytest

from yieldrl.algorithms import ppo, ppo_lstm
from yieldrl.distributed import Cluster, RemoteEvaluator
from yieldrl.envs import TorchVectorEnv

pytest.importorskip("ray", reason="these tests need Ray")
pytestmark = pytest.mark.usefixtures("on_ray")


class Line(gym.Env):
    """A walk to the goal of its task; the larger the draw, the longer it takes."""

    observation_space = gym.spaces.Box(-10, 10, (2,))
    action_space = gym.spaces.Discrete(2)
    info_keys = ("task",)

    def __init__(self, task="near", dies_at=None, fails=False):
        self.task, self.dies_at, self.fails = task, dies_at, fails

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.steps = self.np_random.uniform(-2, 2, 2), 0
        return self.place.astype(np.float32), {"task": self.task}

    def step(self, action):
        self.steps += 1
        if self.fails:
            raise ValueError("the goal is gone")
        if self.dies_at:  # whoever deletes the file, of those that step at once
            with suppress(FileNotFoundError):
                os.remove(self.dies_at)
                os.kill(os.getpid(), signal.SIGKILL)
        self.place = self.place + self.np_random.normal(0.2, 0.1, 2) * (action + 1)
        ended = bool(self.place.sum() > (2 if self.task == "near" else 4))
        info = {"task": self.task, "success": bool(self.steps % 2)}
        return self.place.astype(np.float32), float(action), ended, False, info


CONFIG = {"device": "cpu", "num_envs": 2, "hidden_sizes": (8,), "eval_episodes": 5}


class Places:
    """A cluster with two evaluation actors, which it keeps."""

    def __init__(self):
        self.real = Cluster("", {"eval_actors": 2})
        self.cluster, self.ray, self.put = self, self.real.ray, self.real.put
        self.kept, self.asked = {}, 0

    def actor(self, kind, role):
        """One of the two, or one in place of one that was killed."""
        missing = {0, 1} - self.kept.keys()
        number = min(missing) if missing else self.asked % 2
        self.asked += 1
        if number not in self.kept:
            self.kept[number] = self.real.actor(kind, role)
        return self.kept[number]

    def kill(self, actor):
        self.real.kill(actor)
        self.kept = {k: v for k, v in self.kept.items() if v is not actor}


@pytest.fixture(scope="module")
def places(one_ray):
    made = Places()
    yield made
    made.real.close()


def two_ways(places, source=None, module=ppo, episodes=(5,), **options):
    """The logs of evaluations in process, and those of actors, whose evaluator it is.

    Of one policy, which has never learned.
    """
    config = module.Config(**{**CONFIG, **options})
    eval_envs = source if isinstance(source, dict) else None
    envs = next(iter(source.values())) if eval_envs else source
    alone = module.Trainer(config, envs=envs, eval_envs=eval_envs)
    expected = [alone.evaluate(count)["logs"] for count in episodes]
    config = dataclasses.replace(config, collection="ray", eval_actors=2)
    parts = config.env_id if source is None else source, config, "cpu"
    options = {"pool": places, "trainer_class": module.Trainer}
    shared = RemoteEvaluator(*parts, **options)
    found = [shared(alone.agent, count) for count in episodes]
    return expected, found, shared


@pytest.mark.slow
def test_a_run_evaluates_in_its_actors():
    options = {**CONFIG, "total_steps": 256, "num_steps": 64, "max_policy_lag": 0}
    expected = [*ppo.Trainer(ppo.Config(**options), envs=Line)()][-1]
    ray = ppo.Config(**options, collection="ray", eval_actors=1)
    with ppo.Trainer(ray, envs=Line) as trainer:
        assert [*trainer()][-1] == expected
        assert "made" not in vars(trainer.evaluator), "nothing was played here"
    assert expected["logs"]["episodes"] == 5
    assert expected["logs"]["success_rate"] == expected["logs"]["success_rate/near"]


def test_every_number_is_that_of_an_evaluation_in_process(places):
    """Also of fewer episodes than environments, and of more that do not divide."""
    expected, found, shared = two_ways(places, Line, episodes=(5, 1, 13), seed=3)
    assert found == expected
    assert [log["episodes"] for log in found] == [5, 1, 13]
    assert found[2]["episode_return_std"] > 0
    assert shared.actors.lives == [0, 0]
    assert len({*shared.actors.actors}) == 2
    with pytest.raises(ValueError, match="episodes = 0: play at least one"):
        shared.play(None, 0, seed=3)


@pytest.mark.slow
def test_actions_are_equal_to_the_bit(places):
    """Those of Pendulum are sums, which round otherwise in smaller batches."""
    options = {"num_minibatches": 1, "env_id": "Pendulum-v1", "env_kwargs": {}}
    expected, found, _ = two_ways(places, module=ppo_lstm, episodes=(8,), **options)
    assert found == expected


@pytest.mark.slow
def test_a_batch_that_draws_together_is_played_by_one_actor(places):
    options = {"env_id": "yieldrl/CartPole-v1", "seed": 1}
    expected, found, shared = two_ways(places, episodes=(5, 3), **options)
    assert found == expected
    assert isinstance(shared.envs, TorchVectorEnv)


def test_tasks_are_played_side_by_side(places):
    """Each plays all episodes, in whichever actor; what is said is of each task."""
    tasks = {name: partial(Line, name) for name in ("near", "far", "away")}
    (expected,), (found,), _ = two_ways(places, tasks, episodes=(4,), seed=2)
    assert found == expected
    assert expected["episodes"] == 12
    rates = [expected[f"success_rate/{name}"] for name in tasks]
    assert expected["success_rate"] == pytest.approx(sum(rates) / 3)


@pytest.mark.slow
def test_an_actor_that_is_killed_is_started_again_and_plays_anew(places, tmp_path):
    (expected,), _, _ = two_ways(places, Line)
    dies = partial(Line, dies_at=str(tmp_path / "dies"))
    again, (found,), shared = two_ways(places, dies)
    assert again == [found] == [expected]
    (tmp_path / "dies").touch()
    trainer = ppo.Trainer(ppo.Config(**CONFIG), envs=Line)
    assert shared(trainer.agent, 5) == expected
    assert sorted(shared.actors.lives) == [0, 1]
