"""Training on Ray: workers in other processes, and on other machines.

The extra `[ray]` has it. An algorithm does not know of it: `Config(collection="ray")`
gives its trainer a `RayCollector` in place of a `SyncCollector`.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yieldrl.distributed.answers import StoreFullError, WorkerError
    from yieldrl.distributed.cluster import Cluster
    from yieldrl.distributed.collector import RayCollector
    from yieldrl.distributed.envs import RemoteEnvs
    from yieldrl.distributed.eval_actor import EvalActor
    from yieldrl.distributed.evaluation import RemoteEvaluator
    from yieldrl.distributed.imagination_actor import ImaginationRolloutActor
    from yieldrl.distributed.imagination_pool import ImaginationPool
    from yieldrl.distributed.inference import InferenceActor
    from yieldrl.distributed.learners import DeadLearnerError, LearnerError, Learners
    from yieldrl.distributed.pool import WorkerPool
    from yieldrl.distributed.replay import RemoteReplay
    from yieldrl.distributed.replay_actor import ReplayBufferActor
    from yieldrl.distributed.stats import StatsActor
    from yieldrl.distributed.trainer_actor import TrainerActor
    from yieldrl.distributed.versions import VersionError
    from yieldrl.distributed.weights import Signature, SignatureError
    from yieldrl.distributed.worker import RolloutWorkerActor

__all__ = [
    "Cluster",
    "DeadLearnerError",
    "EvalActor",
    "ImaginationPool",
    "ImaginationRolloutActor",
    "InferenceActor",
    "LearnerError",
    "Learners",
    "RayCollector",
    "RemoteEnvs",
    "RemoteEvaluator",
    "RemoteReplay",
    "ReplayBufferActor",
    "RolloutWorkerActor",
    "Signature",
    "SignatureError",
    "StatsActor",
    "StoreFullError",
    "TrainerActor",
    "VersionError",
    "WorkerError",
    "WorkerPool",
]

_MODULES = {
    "Cluster": "cluster",
    "DeadLearnerError": "learners",
    "EvalActor": "eval_actor",
    "ImaginationPool": "imagination_pool",
    "ImaginationRolloutActor": "imagination_actor",
    "InferenceActor": "inference",
    "LearnerError": "learners",
    "Learners": "learners",
    "RayCollector": "collector",
    "RemoteEnvs": "envs",
    "RemoteEvaluator": "evaluation",
    "RemoteReplay": "replay",
    "ReplayBufferActor": "replay_actor",
    "RolloutWorkerActor": "worker",
    "Signature": "weights",
    "SignatureError": "weights",
    "StatsActor": "stats",
    "StoreFullError": "answers",
    "TrainerActor": "trainer_actor",
    "VersionError": "versions",
    "WorkerError": "answers",
    "WorkerPool": "pool",
}


def __getattr__(name: str) -> Any:
    """Import a name of this package on first use: each actor needs only a few."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
