"""Training with a class of one's own in the place of the library's."""

from typing import Any

import torch


def variant(cls: Any, **members: Any) -> Any:
    """A class with other members: `variant(Trainer, algorithm_class=Mine)`."""
    return type(cls.__name__, (cls,), members)


def trainer_class(library: Any, part: Any) -> Any:
    """An algorithm's trainer with one's own algorithm in it, or one's own trainer."""
    if issubclass(part, library.Trainer):
        return part
    return variant(library.Trainer, algorithm_class=part)


def train(
    library: Any, part: Any, metric: str = "episode_return", **settings: Any
) -> None:
    """Train with one's own algorithm or trainer; print the metric of evaluations.

    Args:
        library: The folder of the algorithm, as `yieldrl.algorithms.ppo`.
        part: What takes the place of its `Algorithm`, or of its `Trainer`.
        metric: What to print.
        settings: Of its `Config`.
    """
    torch.set_num_threads(1)  # as the networks are small
    with trainer_class(library, part)(library.Config(**settings)) as trainer:
        for log in trainer():
            if log["log_type"] == "evaluate":
                print(log["sample_step"], float(log["logs"][metric]))


def logged(trainer: Any) -> list[dict[str, float]]:
    """Train to the end; the numbers that were logged of learning."""
    with trainer:
        logs = [log["logs"] for log in trainer() if log["log_type"] == "train"]
    return [{name: float(value) for name, value in of.items()} for of in logs]
