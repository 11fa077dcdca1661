"""`python -m yieldrl.algorithms.dreamer --help`; a copied folder runs the same way."""

from yieldrl.cli import train_command

from .trainer import Trainer

if __name__ == "__main__":
    train_command(Trainer)
