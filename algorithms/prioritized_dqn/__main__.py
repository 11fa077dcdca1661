"""`python -m yieldrl.algorithms.prioritized_dqn --help`; a copy runs so too."""

from yieldrl.cli import train_command

from .trainer import Trainer

if __name__ == "__main__":
    train_command(Trainer)
