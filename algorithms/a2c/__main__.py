"""`python -m yieldrl.algorithms.a2c --help`; a copied folder runs the same way."""

from yieldrl.cli import train_command

from .algorithm import Trainer

if __name__ == "__main__":
    train_command(Trainer)
