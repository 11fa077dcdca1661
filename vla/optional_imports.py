"""Packages of the extra `vla`, imported on use."""

from __future__ import annotations

import importlib
from typing import Any


def require(name: str) -> Any:
    """The module `name`, imported now.

    Raises:
        ImportError: If it is not installed; the message says what to install.

    >>> require("no_such")
    Traceback (most recent call last):
    ImportError: this model needs the package no_such: pip install 'yieldrl[vla]'
    """
    try:
        return importlib.import_module(name)
    except ImportError as reason:
        package = name.partition(".")[0]
        raise ImportError(
            f"this model needs the package {package}: pip install 'yieldrl[vla]'"
        ) from reason
