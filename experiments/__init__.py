"""What a run leaves behind and starts from: configs, checkpoints, plots."""

from yieldrl.experiments.checkpoint import (
    CheckpointError,
    load_checkpoint,
    save_checkpoint,
)
from yieldrl.experiments.run import Run
from yieldrl.foundations import Config

__all__ = [
    "CheckpointError",
    "Config",
    "Run",
    "load_checkpoint",
    "save_checkpoint",
]
