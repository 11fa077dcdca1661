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
    from yieldrl.experiments.side_by_side import SideBySide

__all__ = [
    "CHECKS",
    "CheckpointError",
    "Config",
    "ContractError",
    "Run",
    "RunInUseError",
    "SideBySide",
    "check_algorithm",
    "load_checkpoint",
    "save_checkpoint",
]

_HOMES = {
    "CHECKS": "contract",
    "ContractError": "contract",
    "SideBySide": "side_by_side",
    "check_algorithm": "contract",
}


def __getattr__(name: str) -> Any:
    """What is imported only when it is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
