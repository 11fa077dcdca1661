"""Trainers side by side: each learns what it would alone."""

from statistics import fmean

import pytest
from factories import trainer_of

from yieldrl.algorithms import dqn, ppo
from yieldrl.experiments import SideBySide

SHORT = {"env_id": "yieldrl/CartPole-v1", "eval_every": 64, "eval_episodes": 2}
SHORT |= {"total_steps": 192, "threads": 1}


@pytest.mark.parametrize("module", [ppo, dqn])
def test_means_are_those_of_trainers_that_train_alone(module):
    own = {"num_steps": 16} if module is ppo else {"learning_starts": 32}
    make = [lambda s=s: trainer_of(module, seed=s, **SHORT, **own) for s in (1, 2, 5)]
    curves = []
    for one in make:
        logs = [log for log in one()() if log["log_type"] == "evaluate"]
        curves.append([log["logs"]["episode_return"] for log in logs])
    together = SideBySide(one() for one in make)
    logs = [*together()]
    means = [log["logs"]["episode_return"] for log in logs]
    assert means == [fmean(values) for values in zip(*curves, strict=True)]
    assert len({value for curve in curves for value in curve}) > 3
    assert [log["sample_step"] for log in logs] == [64, 128, 192]
    together.close()


def test_one_that_ends_early_counts_with_its_last():
    short, long = (trainer_of(ppo, **SHORT, num_steps=16) for _ in range(2))
    loop = SideBySide([short, long])()
    first = next(loop)["logs"]["episode_return"]
    short.config = long.config.__class__(**{**long.config.to_dict(), "total_steps": 64})
    long.evaluate = lambda *_: long._log("evaluate", {"episode_return": 0.0})
    later = [log["logs"]["episode_return"] for log in loop]
    assert later == [first / 2] * 2
