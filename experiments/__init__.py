"""Runs on disk: configs, checkpoints, plots; and `check_algorithm`."""

import importlib
from typing import TYPE_CHECKING, Any

from yieldrl.core import CheckpointError, Config
from yieldrl.experiments.checkpoint import load_checkpoint, save_checkpoint
from yieldrl.experiments.run import Run, RunInUseError

if TYPE_CHECKING:
    from yieldrl.experiments.contract import (
        CHECKS,
        ContractError,
        check_algorithm,
    )

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


def __getattr__(name: str) -> Any:
    """The contract checks, imported when they are asked for."""
    if name not in ("CHECKS", "ContractError", "check_algorithm"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = importlib.import_module(f"{__name__}.contract")
    globals().update({k: getattr(room, k) for k in room.__all__})
    return globals()[name]
