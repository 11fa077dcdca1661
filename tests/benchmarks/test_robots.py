"""What is measured of robots of other packages, with worlds that need none of them."""

from __future__ import annotations

import gymnasium as gym
import pytest

from yieldrl.benchmarks.claims.robots import experts, learning, speed
from yieldrl.benchmarks.registry import CLAIMS
from yieldrl.benchmarks.tasks import make_config


class WellDone(gym.Wrapper):
    def step(self, action):
        obs, reward, terminated, truncated, info = self.env.step(action)
        return obs, reward, terminated, truncated, {**info, "success": True}


def test_steps_of_a_task(monkeypatch):
    monkeypatch.setattr(speed, "SECONDS", 0.01)
    monkeypatch.setitem(speed.TASKS, "Push-T", {"env_id": "CartPole-v1"})
    run = speed.rate("Push-T", seed=2)
    assert (run["task"], run["seed"]) == ("Push-T", 2)
    assert run["steps_per_second"] >= 100


def test_every_task_has_a_row_and_what_must_be_fast_is_judged():
    rate = dict.fromkeys(speed.TASKS, 5.0)
    rate |= {"Meta-World reach": 1_500.0, "Push-T": 900.0}
    runs = [
        {"task": name, "steps_per_second": of, "seconds_to_make": 1}
        for name, of in rate.items()
    ]
    claim = CLAIMS["robots"]["speed"]
    header, rows = claim.table(runs)
    assert header[:2] == ["task", "steps per second"]
    assert [row[0] for row in rows] == list(speed.TASKS)
    assert [verdict.holds for verdict in claim.judge(runs)] == [True, False]


def test_a_seed_of_the_task(monkeypatch):
    """The tuned file's settings in the world that SAC has by default, for a moment."""
    config = make_config("sac", None, {"total_steps": 40, "eval_every": 20})

    def small(algorithm, tuned, fields):
        assert (algorithm, tuned) == ("sac", "reach")
        return type(config)(
            total_steps=40,
            eval_every=20,
            eval_episodes=1,
            learning_starts=39,
            hidden_sizes=(8,),
            wrappers=(f"{__name__}:WellDone",),
            **fields,
        )

    monkeypatch.setattr(learning, "make_config", small)
    monkeypatch.setattr(learning, "EPISODES", 2)
    run = learning.train(seed=3, **CLAIMS["robots"]["reach"].arguments)
    assert run["seed"] == 3
    assert run["first"]["success_rate"] == 1.0
    assert [point["sample_step"] for point in run["curve"]] == [0, 20, 40]
    assert run["final"]["success_rate"] == 1.0
    assert run["processor_seconds"] > 0
    runs = [run, {**run, "final": {**run["final"], "success_rate": 0.5}}]
    claim = CLAIMS["robots"]["reach"]
    assert [verdict.value for verdict in claim.judge(runs)] == [0.5, 0.75]
    assert claim.table(runs)[1][0][:2] == ["2", "0.750 (0.50 to 1.00)"]


def lean(envs, obs):
    """A rule for CartPole: push to where the pole falls."""
    return (obs[:, 2] + obs[:, 3] > 0).astype(int)


def test_a_seed_that_clones_first(monkeypatch):
    """PPO goes on with the network that behaviour cloning leaves, and not with one of
    its own: it cannot be as good in a moment."""
    small = {
        "behavior_cloning": {"demonstrations": f"{__name__}:lean", "eval_every": 0},
        "ppo": {"total_steps": 4, "num_envs": 1, "num_steps": 4, "num_minibatches": 1},
    }

    def on_cartpole(algorithm, tuned, fields):
        assert tuned == "push_t"
        world = {"env_id": "CartPole-v1", "wrappers": (f"{__name__}:WellDone",)}
        return make_config(algorithm, None, {**world, **small[algorithm], **fields})

    monkeypatch.setattr(learning, "make_config", on_cartpole)
    monkeypatch.setattr(learning, "EPISODES", 2)
    claim = CLAIMS["robots"]["push_t"]
    run = learning.train(seed=1, **claim.arguments)
    assert run["first"]["episode_return"] > 100  # untrained about 20
    assert run["cloning_seconds"] > 0
    worse = {**run, "first": {**run["first"], "episode_return": 30.0}}
    worse["final"] = {**run["final"], "episode_return": 90.0}
    assert [verdict.value for verdict in claim.judge([worse])] == [60.0]


def test_files_of_a_clone_and_of_what_goes_on_with_it():
    """The same world and networks; returns of the critic as PPO wants them."""
    clone, after = (make_config(of, "push_t", {}) for of in ("behavior_cloning", "ppo"))
    for name in ("env_id", "wrappers", "hidden_sizes", "gamma"):
        assert getattr(clone, name) == getattr(after, name)
    assert not after.normalize_reward
    assert after.wrappers == ("yieldrl.envs.robots:PushTMoves",)


class Walking(gym.Env):
    """Ends well in the third step, if it is done as its expert does it."""

    observation_space = action_space = gym.spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        self.at = 0
        return self.at, {}

    def expert(self):
        return self.at + 1

    def step(self, action):
        self.at = int(action)
        return self.at, 0.0, self.at == 3, False, {}


def test_episodes_of_an_expert(monkeypatch):
    task = {"env_id": f"{__name__}:Walking"}
    monkeypatch.setitem(experts.TASKS, "Push-T", task)
    monkeypatch.setattr(experts, "EPISODES", 2)
    run = experts.train(seed=4, task="Push-T")
    assert run == {"seed": 4, "task": "Push-T", "success_rate": 1.0, "steps": [3, 3]}
    runs = [{**run, "task": name, "success_rate": 0.9} for name in experts.TASKS]
    claim = CLAIMS["robots"]["experts"]
    assert [verdict.holds for verdict in claim.judge(runs)] == [False, True]
    assert claim.table(runs)[1][0] == ["Push-T", "0.90", "3 (3 to 3)"]


def test_the_file_is_the_wrapped_task():
    config = make_config("sac", "reach", {})
    assert config.env_kwargs["terminate_on_success"] is True
    assert config.wrappers == ("yieldrl.envs.robots:MetaWorld",)
    assert pytest.approx(0.9) == config.gamma
    config = make_config("sac", "push", {})
    assert config.env_kwargs["env_name"] == "push-v3"
    assert config.wrappers == ("yieldrl.envs.robots:MetaWorldRepeated",)
