"""What all workers have done, added up."""

import time

import gymnasium as gym
import numpy as np
import pytest

from yieldrl.algorithms import ppo
from yieldrl.distributed.stats import OutcomeStepper, StatsActor
from yieldrl.envs import SerialVectorEnv


def test_means_are_weighted_by_episodes():
    stats = StatsActor()
    few = {"episode_return": 1.0, "episode_length": 2.0, "episodes": 1.0}
    more = {"episode_return": 5.0, "episode_length": 6.0, "episodes": 3.0}
    stats.add(0, 10, [few])
    stats.add(1, 20, [more, {"epsilon": 0.5}])
    stats.add(1, 20, [])
    assert stats.summary() == {
        "steps": {0: 10, 1: 40},
        "episodes": {0: 1.0, 1: 3.0},
        "episode_return": 4.0,
        "episode_length": 5.0,
        "window": 4.0,
    }


def test_old_reports_leave_the_window_and_stay_in_the_counts():
    stats = StatsActor(window=2)
    for number in range(4):
        log = {"episode_return": number, "episode_length": 1, "episodes": 1.0}
        stats.add(0, 1, [log])
    found = stats.summary()
    assert found["episode_return"] == 2.5
    assert found["episodes"] == {0: 4.0}


def test_successes_are_told_by_task_each_with_a_window_of_its_own():
    stats = StatsActor(window=2)
    stats.add(0, 1, [], [("open", True), ("open", False), ("", True)])
    stats.add(1, 1, [], [("close", True), ("open", False)])
    found = stats.summary()
    assert found["success_rate"] == 0.5  # of the latest two: close and open
    assert found["success_rate/open"] == 0
    assert found["success_rate/close"] == 1
    assert "success_rate/" not in found


class Drawer(gym.Env):
    """An episode of two steps, which is a success if the last action is 1."""

    observation_space = gym.spaces.Discrete(3)
    action_space = gym.spaces.Discrete(2)
    info_keys = ("task",)

    def __init__(self, task="open"):
        self.task, self.steps = task, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return 0, {"task": self.task}

    def step(self, action):
        self.steps += 1
        info = {"task": self.task, "success": bool(action == 1)}
        return self.steps, 0.0, self.steps == 2, False, info


def test_a_worker_notes_which_episodes_were_a_success():
    stepper = OutcomeStepper(SerialVectorEnv([Drawer, lambda: Drawer("close")]))
    stepper.reset(seed=0)
    for actions in ([1, 1], [1, 0], [0, 0], [0, 1], [1, 1]):
        stepper.step(np.array(actions))
    assert stepper.take() == [
        *[("open", True), ("close", False)],
        *[("open", False), ("close", True)],
    ]
    assert stepper.take() == []


@pytest.mark.slow
@pytest.mark.own_processes("StatsActor")
@pytest.mark.usefixtures("on_ray")
def test_one_that_dies_is_started_again_and_workers_report_to_it():
    ray = pytest.importorskip("ray", reason="this test needs Ray")
    options = {"collection": "ray", "num_envs": 2, "num_steps": 4, "eval_every": 0}
    config = ppo.Config(env_id="yieldrl/CartPole-v1", max_policy_lag=0, **options)
    with ppo.Trainer(config) as trainer:
        collector = trainer.collector
        ray.kill(collector.segments.pool.stats.actors[0])
        until, found = time.monotonic() + 300, {}
        while not found.get("steps") and time.monotonic() < until:
            collector.collect(4)
            found = collector.statistics()
        assert found["steps"][0] > 0
        assert found["stats_lives"] == [1]
