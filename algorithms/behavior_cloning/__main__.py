"""`python -m yieldrl.algorithms.behavior_cloning --help`; a copy runs likewise."""

from yieldrl.cli import train_command

from .trainer import Trainer

if __name__ == "__main__":
    train_command(Trainer)
