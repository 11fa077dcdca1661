"""Training with a class of one's own in the place of the library's."""

from typing import Any

import torch

from yieldrl.abstractions import Model, Trainer


def trainer_class(library: Any, part: Any) -> Any:
    """The trainer of an algorithm's folder with one's own algorithm or model in it, or
    one's own trainer."""
    if issubclass(part, Trainer):
        return part
    name = "model_class" if issubclass(part, Model) else "algorithm_class"
    return type("Trainer", (library.Trainer,), {name: part})


def train(
    library: Any, part: Any, metric: str = "episode_return", **settings: Any
) -> None:
    """Train with a class of one's own; print the metric of evaluations.

    Args:
        library: The folder of the algorithm, as `yieldrl.algorithms.ppo`.
        part: What takes the place of its `Algorithm`, its `Model` or its `Trainer`.
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
