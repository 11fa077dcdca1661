"""The evaluation logger."""

import pytest

from yieldrl import loggers


def evaluated(loop):
    return [log["sample_step"] for log in loop if log["log_type"] == "evaluate"]


def test_it_evaluates_at_multiples_and_at_the_end(trainer):
    stack = loggers.evaluation(every=30)(trainer)
    assert evaluated(stack()) == [30, 60, 90, 100]
    assert evaluated(stack()) == []


def test_it_comes_after_the_log_that_made_it_due(trainer):
    loop = loggers.evaluation(every=4, episodes=3)(trainer)()
    logs = [next(loop) for _ in range(4)]
    kinds = [log["log_type"] for log in logs]
    assert kinds == ["collect", "train", "collect", "evaluate"]
    assert logs[-1]["logs"] == {"episode_return": 2.0, "episodes": 3}
    assert next(loop)["log_type"] == "train"


def test_loops_of_single_steps_evaluate_too(trainer):
    stack = loggers.evaluation(every=10)(trainer)
    found = []
    while trainer.agent.sample_step < 40:
        loop = stack()
        found += [next(loop), next(loop)]
        loop.close()
    assert evaluated(found) == [10, 20, 30]


def test_trainers_that_evaluate_are_refused(make_trainer):
    trainer = make_trainer(eval_every=20)
    with pytest.raises(ValueError, match=r"config\.eval_every = 20: .* Set it to 0"):
        next(loggers.evaluation()(trainer)())
