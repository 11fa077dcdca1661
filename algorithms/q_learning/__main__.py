"""`python -m yieldrl.algorithms.q_learning --help`; a copied folder runs likewise."""

from yieldrl.cli import train_command

from .trainer import Trainer

if __name__ == "__main__":
    train_command(Trainer)
