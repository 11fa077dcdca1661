"""Runs on disk: configs, checkpoints, plots; and `check_algorithm`."""

from yieldrl.experiments.check_algorithm import CHECKS, ContractError, check_algorithm
from yieldrl.experiments.checkpoint import load_checkpoint, save_checkpoint
from yieldrl.experiments.run import Run, RunInUseError
from yieldrl.experiments.steps import LoopByHand, Steps
from yieldrl.experiments.trainer_base import TrainingRun
from yieldrl.foundations import CheckpointError, Config

__all__ = [
    "CHECKS",
    "CheckpointError",
    "Config",
    "ContractError",
    "LoopByHand",
    "Run",
    "RunInUseError",
    "Steps",
    "TrainingRun",
    "check_algorithm",
    "load_checkpoint",
    "save_checkpoint",
]
