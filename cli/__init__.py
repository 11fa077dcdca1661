"""The command line: `yieldrl --help`, and `train_command` for copied folders.

Importing it is cheap: PyTorch and the like are imported by the commands that need them.
"""

from yieldrl.cli.app import main
from yieldrl.cli.training import train_command

__all__ = ["main", "train_command"]
