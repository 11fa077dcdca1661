"""Spaces and arrays as values of JSON, and arrays back from there."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import Space
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete
from torch import Tensor


def packed(values: Any) -> dict[str, Any]:
    """An array as its shape and its float32 numbers: little-endian, in base64.

    >>> packed([[1.0, -2.0]])
    {'shape': [1, 2], 'float32': 'AACAPwAAAMA='}
    """
    if isinstance(values, Tensor):
        values = values.detach().cpu().numpy()
    array = np.asarray(values, dtype="<f4")
    text = base64.b64encode(array.tobytes()).decode("ascii")
    return {"shape": list(array.shape), "float32": text}


def unpacked(value: Mapping[str, Any]) -> np.ndarray:
    """The array that was packed.

    >>> unpacked(packed([[1.0, -2.0]])).tolist()
    [[1.0, -2.0]]
    """
    array = np.frombuffer(base64.b64decode(value["float32"]), "<f4")
    return array.reshape(value["shape"])


def of_space(space: Space[Any]) -> dict[str, Any]:
    """What a space is, as values of JSON.

    Bounds are one number where all are alike, and null where there is none.

    Raises:
        TypeError: If it is of a kind that policies do not have.

    >>> of_space(Discrete(2))
    {'type': 'Discrete', 'n': 2, 'start': 0}
    """
    name = type(space).__name__
    if isinstance(space, Dict):
        return {"type": name, "spaces": {k: of_space(v) for k, v in space.items()}}
    if isinstance(space, Discrete):
        return {"type": name, "n": int(space.n), "start": int(space.start)}
    if isinstance(space, MultiDiscrete):
        start = space.start.tolist()
        return {"type": name, "nvec": space.nvec.tolist(), "start": start}
    if isinstance(space, MultiBinary):
        return {"type": name, "shape": list(space.shape)}
    if isinstance(space, Box):
        bounds = {"low": bound(space.low), "high": bound(space.high)}
        kind = {"shape": list(space.shape), "dtype": str(space.dtype)}
        return {"type": "Box", **kind, **bounds}
    raise TypeError(f"{space}: spaces of this kind are not exported")


def bound(values: np.ndarray) -> Any:
    """One side of a Box, flat: a number if all are alike, null for infinite ones."""
    flat = [float(v) if np.isfinite(v) else None for v in values.flatten().tolist()]
    return flat[0] if flat and all(v == flat[0] for v in flat) else flat
