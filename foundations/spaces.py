"""Between Gymnasium's spaces and tensors: shapes, dtypes, nesting, choices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from gymnasium import Space
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete
from torch import Tensor

from yieldrl.foundations.actions import ActionTransform
from yieldrl.foundations.images import (
    channels_last,
    image_divisor,
    is_image,
    is_quantity,
)

__all__ = [
    "ActionBorder",
    "ActionTransform",
    "Path",
    "add_batch_axis",
    "batch_size",
    "channels_last",
    "choices",
    "has_images",
    "holds_tensors",
    "image_divisor",
    "is_batched",
    "is_image",
    "leaves",
    "part",
    "quantities",
    "shape_of",
    "tensor_dtype",
    "to_tensor",
]

ActionBorder = ActionTransform  # as it was called before

Path = tuple[str, ...]
"""Where a leaf lies in a nested observation; `()` if it is not nested."""


def leaves(space: Space[Any], path: Path = ()) -> Iterator[tuple[Path, Space[Any]]]:
    """All leaf spaces of a possibly nested `Dict` space, with their paths.

    Raises:
        TypeError: If a leaf is of a kind that has no fixed-size tensor, or holds
            nothing; if a Dict has no entries, or keys that are no strings.
    """
    if isinstance(space, Dict):
        if not space.spaces:
            raise _unsupported(space, path, ", with an entry at least")
        for name, child in space.spaces.items():
            if not isinstance(name, str):
                raise _unsupported(space, path, f", with strings as keys, not {name!r}")
            yield from leaves(child, (*path, name))
    elif not isinstance(space, (Box, Discrete, MultiDiscrete, MultiBinary)):
        raise _unsupported(space, path, "")
    elif 0 in shape_of(space):
        raise _unsupported(
            space, path, f", with numbers in it, not of shape {space.shape}"
        )
    else:
        yield path, space


def _unsupported(space: Space[Any], path: Path, remedy: str) -> TypeError:
    return TypeError(
        f"space {space} at {'.'.join(path) or 'the top'} is not supported: use Box,"
        f" Discrete, MultiDiscrete, MultiBinary or a Dict of them{remedy} (and for Text"
        " in a batch of your own yieldrl.foundations.Utf8Text)"
    )


def quantities(space: Space[Any]) -> list[Path]:
    """Paths of the leaves whose numbers are quantities, which have a mean and a scale.

    Boxes, but for images, sentences and flags: bits, integers of which each is one of
    two neighbours, and masks of actions.
    """
    return [path for path, leaf in leaves(space) if is_quantity(path, leaf)]


def part(space: Space[Any], names: tuple[str, ...]) -> Space[Any]:
    """The named entries of a Dict, in its order; without names all of any space.

    Raises:
        ValueError: If the space has no such entries.
    """
    entries = space.spaces if isinstance(space, Dict) else {}
    if unknown := [name for name in names if name not in entries]:
        there = f"choose of {list(entries)}" if entries else f"{space} is no Dict"
        raise ValueError(f"observations have no entries {unknown}: {there}")
    chosen = [(name, entries[name]) for name in entries if name in names]
    return Dict(chosen) if chosen else space


def tensor_dtype(space: Space[Any]) -> torch.dtype:
    """float32 for numbers, uint8 for images and bytes, int64 for choices."""
    if isinstance(space, Box):
        if space.dtype == np.uint8:
            return torch.uint8
        return torch.bool if space.dtype == np.bool_ else torch.float32
    return torch.int64 if isinstance(space, (Discrete, MultiDiscrete)) else torch.int8


def shape_of(space: Space[Any]) -> tuple[int, ...]:
    """The shape of one element of a leaf space."""
    assert space.shape is not None, f"{space} has no shape"
    return space.shape


def choices(space: Space[Any]) -> list[int]:
    """How many options each choice of an action has: `[n]` for Discrete.

    Raises:
        TypeError: If actions of this space are no choices.
    """
    if isinstance(space, Discrete):
        return [int(space.n)]
    if isinstance(space, MultiDiscrete):
        return [int(n) for n in space.nvec.flatten()]
    if isinstance(space, MultiBinary):
        return [2] * int(np.prod(space.shape))
    raise TypeError(
        f"actions of {space} are no choices: only Discrete, MultiDiscrete and"
        " MultiBinary have options that a mask could forbid"
    )


def has_images(space: Space[Any]) -> bool:
    """Whether any leaf is a picture."""
    return any(is_image(leaf) for _, leaf in leaves(space))


def to_tensor(obs: Any, device: torch.device) -> Any:
    """NumPy arrays or tensors, nested or not, as tensors on `device`.

    float64 becomes float32. An array on the CPU is viewed, not copied, unless it is
    strided or read-only; on the way to a GPU it passes through pinned memory and does
    not wait for the copy.
    """
    if isinstance(obs, np.ndarray):
        if obs.dtype == np.float64:
            obs = obs.astype(np.float32)
        if not obs.flags.carray:  # PyTorch knows no negative strides
            obs = obs.copy()
        tensor = torch.from_numpy(obs)
        if device.type == "cpu":
            return tensor
        if device.type == "cuda":
            tensor = tensor.pin_memory()
        return tensor.to(device, non_blocking=True)
    if isinstance(obs, Tensor):
        obs = obs.float() if obs.dtype == torch.float64 else obs
        return obs.to(device, non_blocking=True)
    if isinstance(obs, Mapping) or hasattr(obs, "items"):
        return {name: to_tensor(child, device) for name, child in obs.items()}
    return to_tensor(np.asarray(obs), device)


def holds_tensors(obs: Any) -> bool:
    """Whether the observation is made of tensors (otherwise of NumPy arrays)."""
    if isinstance(obs, (Tensor, np.ndarray)):  # most are, and to ask them is cheap
        return isinstance(obs, Tensor)
    return hasattr(obs, "items") and any(map(holds_tensors, obs.values()))


def is_batched(space: Space[Any], obs: Any, needed: tuple[str, ...] = ()) -> bool:
    """Whether tensors carry a batch axis before the shape of `space`.

    Of a Dict the entries `needed` must be there, by default all.

    Raises:
        ValueError: If it is neither one observation nor a batch, or lacks an entry.
    """
    if isinstance(space, Dict):
        if not hasattr(obs, "items"):
            raise ValueError(f"expected a dict with keys {[*space]}, got {type(obs)}")
        needed = needed or tuple(space)
        missing = [name for name in needed if name not in obs.keys()]  # noqa: SIM118
        if missing:
            raise ValueError(f"observation lacks {missing}, it has {list(obs.keys())}")
        return is_batched(space[needed[0]], obs[needed[0]])
    shape, got = shape_of(space), obs.shape
    if len(got) == len(shape) + 1 and got[1:] == shape:
        return True
    if got == shape:
        return False
    raise ValueError(
        f"observation of shape {tuple(obs.shape)} fits neither one observation {shape}"
        f" nor a batch {('B', *shape)}"
    )


def batch_size(obs: Any) -> int:
    """How many observations a batch holds, of tensors or of arrays."""
    while not isinstance(obs, (Tensor, np.ndarray)):
        obs = next(iter(obs.values()))
    return len(obs)


def add_batch_axis(obs: Any) -> Any:
    """A batch of one."""
    if isinstance(obs, dict):
        return {name: add_batch_axis(child) for name, child in obs.items()}
    return obs.unsqueeze(0)
