"""What `model_config` may say, which differs from backend to backend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def check_options(
    model_config: Mapping[str, Any], known: Iterable[str], model: str
) -> None:
    """Refuse an option that nobody would read.

    Args:
        model_config: Of the config.
        known: Names of the options that there are.
        model: What the message calls the model.

    Raises:
        ValueError: If there is another; the message names it.

    >>> check_options({"depth": 2}, ["width", "layers"], "the tiny model")
    Traceback (most recent call last):
    ValueError: model_config: the tiny model has no 'depth'; choose of width, layers
    """
    known = list(known)
    unknown = [name for name in model_config if name not in known]
    if unknown:
        remedy = f"choose of {', '.join(known)}" if known else "leave it out"
        raise ValueError(f"model_config: {model} has no {unknown[0]!r}; {remedy}")
