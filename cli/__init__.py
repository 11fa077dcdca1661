"""The command line: `yieldrl --help`, and `train_command` for copied folders.

Importing it is cheap: PyTorch and the like are imported by the commands that need them.
"""

from typing import Any

from yieldrl.cli.app import main
from yieldrl.cli.training import train_command

__all__ = ["main", "train_command"]

_MOVED = {
    "exporting": "yieldrl.cli.restoring",
    "family": "yieldrl.cli.catalog",
    "named": "yieldrl.cli.resolve",
    "plan": "yieldrl.cli.run_spec",
    "tuned": "yieldrl.cli.presets",
}


def __getattr__(name: str) -> Any:
    if name in _MOVED:
        raise ImportError(f"{__name__}.{name} is {_MOVED[name]} now")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
