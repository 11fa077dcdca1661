"""`python -m yieldrl.algorithms.dueling_dqn --help`; a copied folder runs the same."""

from yieldrl.cli import train_command

from .trainer import Trainer

if __name__ == "__main__":
    train_command(Trainer)
