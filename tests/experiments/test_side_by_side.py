"""Trainers side by side: each learns what it would alone."""

from statistics import fmean

import pytest
from factories import trainer_of

from yieldrl import loggers
from yieldrl.algorithms import dqn, ppo
from yieldrl.experiments import SideBySide

SHORT = {"env_id": "yieldrl/CartPole-v1", "eval_every": 64, "eval_episodes": 2}
SHORT |= {"total_steps": 192, "threads": 1}


@pytest.mark.parametrize("module", [ppo, dqn])
def test_means_are_those_of_trainers_that_train_alone(module):
    """One that ends early, by its own logger, counts with its last evaluation."""
    own = {"num_steps": 16} if module is ppo else {"learning_starts": 32}
    make = [lambda s=s: trainer_of(module, seed=s, **SHORT, **own) for s in (1, 2, 5)]
    short = loggers.early_stop(threshold=0.0)
    make.append(lambda: short(trainer_of(module, seed=9, **SHORT, **own)))
    curves = []
    for one in make:
        logs = [log for log in one()() if log["log_type"] == "evaluate"]
        curves.append([log["logs"]["episode_return"] for log in logs])
    assert len({value for curve in curves for value in curve}) > 3
    assert len(curves[-1]) == 1
    curves[-1] *= 3
    together = SideBySide(one() for one in make)
    logs = [*together()]
    means = [log["logs"]["episode_return"] for log in logs]
    assert means == [fmean(values) for values in zip(*curves, strict=True)]
    assert [log["sample_step"] for log in logs] == [64, 128, 192]
    together.close()
