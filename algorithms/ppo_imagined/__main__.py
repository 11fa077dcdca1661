"""`python -m yieldrl.algorithms.ppo_imagined --help`; so of a copied folder."""

from yieldrl.cli import train_command

from .trainer import Trainer

if __name__ == "__main__":
    train_command(Trainer)
