"""`python -m yieldrl.algorithms.grpo_imagined --help`; so of a copied folder."""

from yieldrl.cli import train_command

from .trainer import Trainer

if __name__ == "__main__":
    train_command(Trainer)
