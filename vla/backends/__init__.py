"""Sources of models, a file for each kind; imported on use."""

from collections.abc import Mapping, Sequence
from typing import Any


def check_options(
    model_config: Mapping[str, Any], known: Sequence[str], model: str
) -> None:
    """Refuse a `model_config` with options that the model does not know.

    >>> check_options({"depth": 2}, ["width", "layers"], "the tiny model")
    Traceback (most recent call last):
    ValueError: model_config: the tiny model has no 'depth'; choose of width, layers
    """
    unknown = [name for name in model_config if name not in known]
    if unknown:
        remedy = f"choose of {', '.join(known)}" if known else "leave it out"
        raise ValueError(f"model_config: {model} has no {unknown[0]!r}; {remedy}")
