"""Train with your own answer, `exercise.py`, and print what evaluations say:

    python -m yieldrl.exercises ch09 --total-steps 30_000 --eval-every 5_000

The options are those of the chapter's algorithm; `--help` lists them. Where there are
several, all are trained, or the one whose name comes first: `ch11 SAC --seed 2`.
"""

import sys
from typing import Any

import torch

from yieldrl.cli import options
from yieldrl.cli.errors import usage_errors
from yieldrl.exercises import training
from yieldrl.exercises.checking import load
from yieldrl.exercises.gaps import find


def main(chapter: str = "", *words: str) -> None:
    """Train with the classes of an answer, one after the other."""
    with usage_errors():
        folder = find(chapter)
    parts = training.own_parts(load(folder, folder / "exercise.py", {}))
    if not parts:
        raise SystemExit(f"{folder.name} has nothing to train: use it in a notebook")
    chosen = [part for part in parts if part.__name__ in words[:1]]
    for part in chosen or parts:
        print(part.__name__, flush=True)
        train(training.trainer_class(part), words[len(chosen) :])


def train(trainer_class: Any, words: tuple[str, ...]) -> None:
    """Train with the options of a command line; print a line for each evaluation."""
    torch.set_num_threads(1)  # as the networks are small
    with usage_errors():
        asked = options.parse(trainer_class, words, "python -m yieldrl.exercises")
    with trainer_class(asked.config) as trainer:
        for log in trainer():
            if log["log_type"] == "evaluate":
                said = [f"{name} {of:.4g}" for name, of in log["logs"].items()]
                print(f"{log['sample_step']:>8}", *said, sep="  ", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
