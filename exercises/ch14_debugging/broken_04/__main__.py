"""`python -m yieldrl.exercises.ch14_debugging.broken_04 --help`."""

from yieldrl.cli import train_command

from .trainer import Trainer

if __name__ == "__main__":
    train_command(Trainer)
