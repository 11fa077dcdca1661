"""Compiled gradient steps learn what eager ones do."""

import dataclasses

import pytest
from factories import trainer_of

LATER = ["behavior_cloning", "ddpg", "dqn", "ppo_masked", "ppo_roa", "prioritized_dqn"]
LATER += ["rainbow", "sac", "td3"]
COMPILED = ["ppo"]
COMPILED += [pytest.param(name, marks=pytest.mark.slow) for name in LATER]
OTHERS = {"clip_coef": 0.1, "error_clip": 0.5, "entropy_coef": 0.2, "value_coef": 0.1}


def losses(name, *, compiled):
    """Of a run in whose course a coefficient and the learning rate change."""
    found = []
    with trainer_of(name, compile=compiled, seed=3) as trainer:
        for log in trainer():
            if log["log_type"] != "train":
                continue
            found.append(float(log["logs"]["loss"]))
            config = trainer.algorithm.config
            known = {field.name for field in dataclasses.fields(config)}
            if len(found) == 4:
                others = {k: v for k, v in OTHERS.items() if k in known}
                trainer.algorithm.config = dataclasses.replace(config, **others)
            if len(found) == 6:
                trainer.algorithm.learning_rate = 0.02
            if len(found) == 10:
                break
    return found


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_it_learns_the_same(name, traced):
    eager, compiled = losses(name, compiled=False), losses(name, compiled=True)
    assert len(eager) == 10
    assert compiled == pytest.approx(eager, rel=1e-2, abs=1e-4)
    assert traced


def test_code_that_pytorch_generates_computes_the_same():
    eager, compiled = losses("ppo", compiled=False), losses("ppo", compiled=True)
    assert compiled == pytest.approx(eager, rel=1e-2, abs=1e-4)
