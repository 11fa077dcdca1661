"""The model of one algorithm, for the trainer of another."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from yieldrl.cli import family


def of_algorithm(name: str, trainer_class: type[Any]) -> Callable[..., Any]:
    """The model of an algorithm of `yieldrl list`, as a trainer can use it.

    Args:
        name: The algorithm.
        trainer_class: Who is to use its model.

    Raises:
        ValueError: If the model is not one of the kind that the trainer has, at once,
            or when it is made: if the trainer's config lacks one of its fields.
    """
    model = importlib.import_module(f"{family.PACKAGE}.{name}").Model
    user, usual = trainer_class.__module__, trainer_class.model_class
    start = f"block 'policy': the model of {name} does not fit {user}"
    ours = usual.__module__.startswith(f"{family.PACKAGE}.")
    if ours and isinstance(usual, type) and not issubclass(model, usual):
        raise ValueError(
            f"{start}: it is no {usual.__module__}.{usual.__qualname__}. Leave 'name'"
            " out, or name one of your own, package.module:Class"
        )

    @functools.wraps(model, updated=())
    def made(observation_space: Any, action_space: Any, config: Any) -> Any:
        try:
            return model(observation_space, action_space, config)
        except AttributeError as reason:
            if reason.obj is not config:
                raise
            raise ValueError(
                f"{start}, whose config has no {reason.name!r}: take the algorithm"
                f" {name!r}, or leave 'name' out"
            ) from None

    return made
