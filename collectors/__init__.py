"""The one place where environments are stepped: to collect, and to evaluate."""

from yieldrl.collectors.asynchronous import AsyncCollector
from yieldrl.collectors.contract import Buffer, Collector
from yieldrl.collectors.evaluation import Evaluation, evaluate
from yieldrl.collectors.evaluator import Evaluator
from yieldrl.collectors.statistics import mean_episode
from yieldrl.collectors.sync import SyncCollector
from yieldrl.collectors.whole import WholeCollector

__all__ = [
    "AsyncCollector",
    "Buffer",
    "Collector",
    "Evaluation",
    "Evaluator",
    "SyncCollector",
    "WholeCollector",
    "evaluate",
    "mean_episode",
]
