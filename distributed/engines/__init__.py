"""Engines: the processes of a learner take one gradient step on their batches.

`Config.engine` names one of PyTorch's methods, or DeepSpeed. An algorithm does not know
of it: its `runtime` asks the engine for gradient steps.
"""

from yieldrl.distributed.engines.base import Engine, EngineStep
from yieldrl.distributed.engines.ddp import DDPEngine
from yieldrl.distributed.engines.deepspeed import DeepSpeedEngine
from yieldrl.distributed.engines.fsdp2 import FSDP2Engine
from yieldrl.distributed.engines.making import make_engine

__all__ = [
    "DDPEngine",
    "DeepSpeedEngine",
    "Engine",
    "EngineStep",
    "FSDP2Engine",
    "make_engine",
]
