"""`python -m yieldrl.algorithms.reinforce_pp --help`; a copied folder runs likewise."""

from yieldrl.cli import train_command

from .trainer import Trainer

if __name__ == "__main__":
    train_command(Trainer)
