"""Training with a class of one's own in the place of the library's."""

import importlib
from typing import Any

from yieldrl.abstractions import Algorithm, Model, Trainer


def trainer_class(part: Any) -> Any:
    """One's own trainer; of an algorithm or a model the trainer of the algorithm in
    the library that it is a difference to, with it in its place."""
    if issubclass(part, Trainer):
        return part
    homes = [parent.__module__.split(".") for parent in part.__mro__]
    home = next(names for names in homes if names[:2] == ["yieldrl", "algorithms"])
    library = importlib.import_module(".".join(home[:3]))
    name = "model_class" if issubclass(part, Model) else "algorithm_class"
    members = {name: part, "__module__": part.__module__}
    return type("Trainer", (library.Trainer,), members)


def own_parts(answer: Any) -> list[Any]:
    """The trainers of an answer, or else its algorithms and models."""
    classes = [part for part in vars(answer).values() if isinstance(part, type)]
    own = [part for part in classes if part.__module__ == answer.__name__]
    trainers = [part for part in own if issubclass(part, Trainer)]
    return trainers or [part for part in own if issubclass(part, Algorithm | Model)]


def logged(trainer: Any) -> list[dict[str, float]]:
    """Train to the end; the numbers that were logged of learning."""
    with trainer:
        logs = [log["logs"] for log in trainer() if log["log_type"] == "train"]
    return [{name: float(value) for name, value in of.items()} for of in logs]
