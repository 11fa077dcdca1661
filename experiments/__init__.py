"""Runs on disk: configs, checkpoints, plots; and `check_algorithm`."""

from yieldrl.experiments.check_algorithm import CHECKS, ContractError, check_algorithm
from yieldrl.experiments.checkpoint import load_checkpoint, save_checkpoint
from yieldrl.experiments.run import Run, RunInUseError
from yieldrl.foundations import CheckpointError, Config

__all__ = [
    "CHECKS",
    "CheckpointError",
    "Config",
    "ContractError",
    "Run",
    "RunInUseError",
    "check_algorithm",
    "load_checkpoint",
    "save_checkpoint",
]
