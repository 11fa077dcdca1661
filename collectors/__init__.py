"""The one place where environments are stepped: to collect, and to evaluate."""

from yieldrl.collectors.evaluation import Evaluation, evaluate
from yieldrl.collectors.sync import SyncCollector

__all__ = ["Evaluation", "SyncCollector", "evaluate"]
