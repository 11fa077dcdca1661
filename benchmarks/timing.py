"""Did a change make it slower? The seconds of what training spends its time in:

    python -m pytest benchmarks/timing.py --benchmark-autosave  # before the change
    python -m pytest benchmarks/timing.py --benchmark-compare  # and after it

It needs `pip install -e '.[bench]'`, and a machine that does nothing else.
"""

import importlib
from typing import Any

import gymnasium
import pytest
import torch

from yieldrl.envs import wrappers
from yieldrl.functional import gae

torch.set_num_threads(1)

WORLDS = {"yieldrl/CartPole-v1": 1024, "yieldrl/MinAtar-Breakout-v1": 256}
WORLDS |= {"CartPole-v1": 8, "Pendulum-v1": 8}
WRAPPERS = ("EpisodeStatistics", "NormalizeObservation", "NormalizeReward")
ALGORITHMS = {"ppo": "CartPole-v1", "dqn": "CartPole-v1", "sac": "Pendulum-v1"}


def step(benchmark: Any, envs: Any) -> None:
    """Time steps of all environments, always with the same actions."""
    envs.reset(seed=0)
    action = envs.action_space.sample()
    if hasattr(envs.unwrapped, "device"):  # of tensors
        action = torch.as_tensor(action)
    benchmark(envs.step, action)
    benchmark.extra_info["steps_per_second"] = envs.num_envs / benchmark.stats["median"]


@pytest.mark.parametrize("env_id", WORLDS)
def test_step_of_a_world(benchmark: Any, env_id: str) -> None:
    step(benchmark, gymnasium.make_vec(env_id, num_envs=WORLDS[env_id]))


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_step_in_a_wrapper(benchmark: Any, wrapper: str) -> None:
    envs = gymnasium.make_vec("yieldrl/CartPole-v1", num_envs=1024)
    step(benchmark, getattr(wrappers, wrapper)(envs))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_gradient_step(benchmark: Any, name: str) -> None:
    module = importlib.import_module(f"yieldrl.algorithms.{name}")
    fields = {"env_id": ALGORITHMS[name], "eval_every": 0, "device": "cpu"}
    batches: list[Any] = []
    with module.Trainer(module.Config(**fields)) as trainer:
        algorithm, learn = trainer.algorithm, trainer.algorithm.learn
        algorithm.learn = lambda batch: batches.append(batch) or learn(batch)
        next(log for log in trainer() if log["log_type"] == "train")
        with algorithm.learning():
            benchmark(learn, batches[0])


def test_advantages(benchmark: Any) -> None:
    values, ends = torch.rand(3, 128, 64), torch.rand(2, 128, 64) < 0.01
    benchmark(gae, *values, *ends, gamma=0.99, gae_lambda=0.95)


def test_sample_of_a_replay_buffer(benchmark: Any) -> None:
    dqn = importlib.import_module("yieldrl.algorithms.dqn")
    with dqn.Trainer(dqn.Config(eval_every=0, device="cpu")) as trainer:
        next(log for log in trainer() if log["log_type"] == "train")
        benchmark(trainer.buffer.sample, 128)
