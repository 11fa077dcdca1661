"""The command line: `yieldrl --help`, `train_command` for copied folders, and agents.

Importing it is cheap: PyTorch and the like are imported by the commands that need them.
"""

from yieldrl.cli.app import main
from yieldrl.cli.playing import load_agent
from yieldrl.cli.training import train_command

__all__ = ["load_agent", "main", "train_command"]
