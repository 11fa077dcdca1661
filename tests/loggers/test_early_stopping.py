"""The early_stop logger."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from yieldrl import loggers


def stopped_at(stack: Any) -> int:
    for log in stack():
        last = log
    return last["sample_step"]


@pytest.fixture
def score(make_trainer: Callable[..., Any]) -> Callable[[Sequence[float]], Any]:
    """Makes trainers that evaluate each 10 steps, to these returns."""

    def make(returns: Sequence[float]) -> Any:
        trainer, values = make_trainer(eval_every=10), iter(returns)
        trainer.evaluate = lambda *_: trainer.log(
            "evaluate", {"episode_return": next(values)}
        )
        return trainer

    return make


def test_a_threshold(score: Any) -> None:
    trainer = score([1, math.nan, 5, 9, 9, 9, 9, 9, 9, 9])
    stack = loggers.early_stop(threshold=5)(trainer)
    logs = list(stack())
    assert (logs[-1]["log_type"], logs[-1]["sample_step"]) == ("evaluate", 30)
    assert trainer.closed_loops == 1
    assert stopped_at(stack) == 40  # a new loop goes on, and stops at the goal again


def test_less_is_better(score: Any) -> None:
    stack = loggers.early_stop(threshold=-2, mode="min")(score([3, 0, -2, 1, 1]))
    assert stopped_at(stack) == 30


@pytest.mark.parametrize(
    ("returns", "mode", "step"),
    [
        ([1, 2, 2, 3, 3, 3, 4, 4, 4, 4], "max", 60),
        ([5, 4, math.nan, 3, math.nan, math.nan, 2, 1, 1, 1], "min", 60),
        ([math.nan, math.nan, 1], "max", 20),
    ],
)
def test_patience(score: Any, returns: Any, mode: Any, step: int) -> None:
    assert stopped_at(loggers.early_stop(patience=2, mode=mode)(score(returns))) == step


def test_any_metric_of_any_type(trainer: Any) -> None:
    stop = loggers.early_stop("loss", threshold=7, log_type="train")
    assert stopped_at(stop(trainer)) == 14


def test_two_metrics_are_two_loggers(trainer: Any) -> None:
    stack = loggers.early_stop("loss", threshold=9, log_type="train")(trainer)
    stack = loggers.early_stop(threshold=10**9)(stack)
    stack = loggers.early_stop("loss", threshold=7, log_type="train")(stack)
    assert repr(stack).count("early_stop(") == 2
    assert stopped_at(stack) == 14
