"""Engines: the processes of a learner take one gradient step on their batches.

`Config.engine` names one of PyTorch's methods, or DeepSpeed. An algorithm does not know
of it: its `runtime` asks the engine for gradient steps.
"""

from typing import Any

from yieldrl.core import Config
from yieldrl.distributed.engines.base import DDPEngine, Engine
from yieldrl.distributed.engines.deepspeed import DeepSpeedEngine
from yieldrl.distributed.engines.fsdp2 import FSDP2Engine

__all__ = [
    "DDPEngine",
    "DeepSpeedEngine",
    "Engine",
    "FSDP2Engine",
    "make_engine",
]

ENGINES: dict[str, type[Engine]] = {
    "ddp": DDPEngine,
    "fsdp2": FSDP2Engine,
    "deepspeed": DeepSpeedEngine,
}


def make_engine(config: Config, algorithm: Any) -> Engine:
    """The engine of a config, which takes over an algorithm's gradient steps.

    Call it in every process of a `torch.distributed` group, before the first gradient
    step.

    Args:
        config: Says `engine` and `zero_stage`.
        algorithm: With its model and all its optimizers; its `runtime` gets the engine.

    Raises:
        ImportError: If DeepSpeed is asked for and not installed.
    """
    algorithm.runtime.engine = engine = ENGINES[config.engine](config, algorithm)
    return engine
