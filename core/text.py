"""Sentences as tensors of fixed size: their bytes in UTF-8."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import Space
from gymnasium.spaces import Box, Dict
from torch import Tensor


class Utf8Text(Box):
    """A sentence as its bytes in UTF-8, `[max_bytes]` uint8, with zeros after it.

    `max_bytes` is the length of the longest; a letter without an accent takes one byte.

    >>> space = Utf8Text(8)
    >>> space.encode("go")
    array([103, 111,   0,   0,   0,   0,   0,   0], dtype=uint8)
    >>> decode(space.encode(["go", "stop"]))
    ['go', 'stop']
    """

    def __init__(self, max_bytes: int) -> None:
        if max_bytes < 1:
            raise ValueError(f"max_bytes = {max_bytes}: must be at least 1")
        super().__init__(0, 255, (max_bytes,), np.uint8)
        self.max_bytes = max_bytes

    def encode(self, text: str | Sequence[str]) -> np.ndarray:
        """uint8 bytes of one string, `[max_bytes]`, or B of them; or ValueError."""
        if not isinstance(text, str):
            rows = [self.encode(str(one)) for one in text]
            return np.stack(rows) if rows else np.zeros((0, self.max_bytes), np.uint8)
        encoded = text.encode()
        if len(encoded) > self.max_bytes:
            raise ValueError(
                f"a sentence of {len(encoded)} bytes, {text!r}, is longer than"
                f" max_bytes = {self.max_bytes}: shorten it, or give the space more"
            )
        row = np.zeros(self.max_bytes, np.uint8)
        row[: len(encoded)] = np.frombuffer(encoded, np.uint8)
        return row

    def __repr__(self) -> str:
        return f"Utf8Text({self.max_bytes})"


def decode(encoded: np.ndarray | Tensor) -> list[str]:
    """Decode bytes `[B, S]` or `[S]`, uint8; U+FFFD replaces invalid UTF-8."""
    array = encoded.cpu().numpy() if isinstance(encoded, Tensor) else encoded
    rows = array.reshape(-1, array.shape[-1])
    return [row.tobytes().rstrip(b"\0").decode(errors="replace") for row in rows]


def has_text(space: Space[Any]) -> bool:
    """Whether a space has a text leaf."""
    if isinstance(space, Dict):
        return any(has_text(child) for child in space.values())
    return isinstance(space, Utf8Text)


def encoded(space: Space[Any], obs: Any) -> Any:
    """An observation or batch, with its strings encoded as bytes."""
    if isinstance(space, Dict) and (isinstance(obs, Mapping) or hasattr(obs, "items")):
        return {
            name: encoded(space[name], child) if name in space.spaces else child
            for name, child in obs.items()
        }
    if not isinstance(space, Utf8Text):
        return obs
    if isinstance(obs, np.ndarray) and obs.dtype.kind in "OU":  # an array of strings
        obs = obs.tolist()
    return obs if isinstance(obs, (np.ndarray, Tensor)) else space.encode(obs)


def listed(names: Sequence[str]) -> str:
    """The first three names, and how many more there are.

    >>> listed(["a", "b", "c", "d"])
    'a, b, c and 1 more'
    """
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
