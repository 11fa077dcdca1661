"""Training on Ray: workers in other processes, and on other machines.

The extra `[ray]` has it. An algorithm does not know of it: `Config(collection="ray")`
gives its trainer a `RayCollector` in place of a `SyncCollector`.
"""

from yieldrl.distributed.actors import ActorPool, WorkerError
from yieldrl.distributed.cluster import Cluster
from yieldrl.distributed.collector import RayCollector
from yieldrl.distributed.evaluation import EvalActor, RemoteEvaluator
from yieldrl.distributed.imagination import ImaginationPool, ImaginationRolloutActor
from yieldrl.distributed.inference import InferenceActor
from yieldrl.distributed.learners import (
    DeadLearnerError,
    LearnerError,
    Learners,
    TrainerActor,
)
from yieldrl.distributed.replay import RemoteReplay, ReplayBufferActor
from yieldrl.distributed.stats import StatsActor
from yieldrl.distributed.weights import SignatureError, Store, Weights
from yieldrl.distributed.workers import RemoteEnvs, RolloutWorkerActor, WorkerPool

__all__ = [
    "ActorPool",
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
    "SignatureError",
    "StatsActor",
    "Store",
    "TrainerActor",
    "Weights",
    "WorkerError",
    "WorkerPool",
]
