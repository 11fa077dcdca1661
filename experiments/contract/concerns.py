"""Warnings of what nobody forbids and few can want."""

from __future__ import annotations

import warnings
from typing import Any


def warn_of(trainer: Any) -> None:
    """Say what the algorithm and its model are concerned about, if anything."""
    concerns = getattr(trainer.agent.algorithm, "concerns", None)
    for said in [] if concerns is None else concerns():
        warnings.warn(f"{trainer.name}: {said}", UserWarning, stacklevel=4)
