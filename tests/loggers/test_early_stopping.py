"""The early_stop logger."""

import math

import pytest

from yieldrl import loggers


def stopped_at(stack):
    for log in stack():
        last = log
    return last["sample_step"]


@pytest.fixture
def score(make_trainer):
    """Makes trainers that evaluate each 10 steps, to these returns."""

    def make(returns):
        trainer, values = make_trainer(eval_every=10), iter(returns)
        trainer.evaluate = lambda *_: trainer.log(
            "evaluate", {"episode_return": next(values)}
        )
        return trainer

    return make


def test_a_threshold(score):
    trainer = score([1, math.nan, 5, 9, 9, 9, 9, 9, 9, 9])
    stack = loggers.early_stop(threshold=5)(trainer)
    logs = list(stack())
    assert (logs[-1]["log_type"], logs[-1]["sample_step"]) == ("evaluate", 30)
    assert trainer.closed_loops == 1
    assert stopped_at(stack) == 40  # a new loop goes on, and stops at the goal again
    less = loggers.early_stop(threshold=-2, mode="min")(score([3, 0, -2, 1, 1]))
    assert stopped_at(less) == 30


@pytest.mark.parametrize(
    ("returns", "mode", "step"),
    [
        ([1, 2, 2, 3, 3, 3, 4, 4, 4, 4], "max", 60),
        ([5, 4, math.nan, 3, math.nan, math.nan, 2, 1, 1, 1], "min", 60),
        ([math.nan, math.nan, 1], "max", 20),
        ([*range(10)], "max", 100),  # it never stopped improving
    ],
)
def test_patience(score, returns, mode, step):
    assert stopped_at(loggers.early_stop(patience=2, mode=mode)(score(returns))) == step


def test_any_metric_of_any_type(trainer):
    """And two metrics are two loggers, of which the latest of a metric counts."""
    stack = loggers.early_stop("loss", threshold=9, log_type="train")(trainer)
    stack = loggers.early_stop(threshold=10**9)(stack)
    stack = loggers.early_stop("loss", threshold=7, log_type="train")(stack)
    assert repr(stack).count("early_stop(") == 2
    assert stopped_at(stack) == 14
