"""Collectors step environments with an agent; evaluation plays whole episodes."""

from yieldrl.collectors.asynchronous import AsyncCollector
from yieldrl.collectors.distributed_statistics import mean_episode
from yieldrl.collectors.evaluation import (
    Evaluation,
    Evaluator,
    evaluate,
    evaluate_in_order,
    play_in_order,
)
from yieldrl.collectors.protocols import Buffer, Collector
from yieldrl.collectors.sync import SyncCollector

__all__ = [
    "AsyncCollector",
    "Buffer",
    "Collector",
    "Evaluation",
    "Evaluator",
    "SyncCollector",
    "evaluate",
    "evaluate_in_order",
    "mean_episode",
    "play_in_order",
]
