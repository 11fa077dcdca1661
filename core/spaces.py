"""Gymnasium's spaces: leaves, dtypes, shapes, images, choices."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium import Space
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text

from yieldrl.core import conversion
from yieldrl.core.text import Utf8Text
from yieldrl.core.trees import Path

ActionTransform = conversion.ActionTransform
add_batch_axis, batch_size = conversion.add_batch_axis, conversion.batch_size
holds_tensors, is_batched = conversion.holds_tensors, conversion.is_batched
to_tensor = conversion.to_tensor

UNBOUNDED = 2.0**31 - 1  # larger bounds count as infinite, such as a dtype's maximum


def leaves(space: Space[Any], path: Path = ()) -> Iterator[tuple[Path, Space[Any]]]:
    """All leaf spaces of a nested `Dict`, with paths; TypeError if unsupported."""
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
        remedy = f", with numbers in it, not of shape {space.shape}"
        raise _unsupported(space, path, remedy)
    else:
        yield path, space


def _unsupported(space: Space[Any], path: Path, remedy: str) -> TypeError:
    return TypeError(
        f"space {space} at {'.'.join(path) or 'the top'} is not supported: use Box,"
        f" Discrete, MultiDiscrete, MultiBinary or a Dict of them{remedy} (and for Text"
        " in a batch of your own yieldrl.core.Utf8Text)"
    )


def have_same_leaves(space: Space[Any], wanted: Space[Any]) -> bool:
    """Whether two spaces are equal up to bounds, precision and lengths of texts."""
    if isinstance(space, Dict) and isinstance(wanted, Dict):
        same = space.keys() == wanted.keys()
        return same and all(have_same_leaves(space[k], wanted[k]) for k in wanted)
    if isinstance(space, Text | Utf8Text):
        return isinstance(wanted, Utf8Text)
    if isinstance(space, Box) and isinstance(wanted, Box):
        real = space.dtype.kind == wanted.dtype.kind == "f"
        return space.shape == wanted.shape and (real or space.dtype == wanted.dtype)
    return space == wanted


def part(space: Space[Any], names: tuple[str, ...]) -> Space[Any]:
    """The named entries of a Dict, in its order; all without names. Or ValueError."""
    entries = space.spaces if isinstance(space, Dict) else {}
    if unknown := [name for name in names if name not in entries]:
        there = f"choose of {list(entries)}" if entries else f"{space} is no Dict"
        raise ValueError(f"observations have no entries {unknown}: {there}")
    return Dict([x for x in entries.items() if x[0] in names]) if names else space


def tensor_dtype(space: Space[Any], *, exact: bool = False) -> torch.dtype:
    """float32 for numbers, uint8 for images and bytes, int64 for choices.

    With `exact`, float64 for numbers that float32 does not hold.
    """
    if isinstance(space, Box):
        if space.dtype == np.uint8:
            return torch.uint8
        if exact and not np.can_cast(space.dtype, np.float32):
            return torch.float64
        return torch.bool if space.dtype == np.bool_ else torch.float32
    return torch.int64 if isinstance(space, (Discrete, MultiDiscrete)) else torch.int8


def shape_of(space: Space[Any]) -> tuple[int, ...]:
    """The shape of one element of a leaf space."""
    assert space.shape is not None, f"{space} has no shape"
    return space.shape


def examples(space: Space[Any]) -> Any:
    """Two example observations `[2, ...]` of a space, to trace a policy with."""
    if isinstance(space, Dict):
        return {name: examples(child) for name, child in space.spaces.items()}
    zeros = torch.zeros(2, *shape_of(space), dtype=tensor_dtype(space))
    return zeros + torch.as_tensor(getattr(space, "start", 0), dtype=zeros.dtype)


def is_image(space: Space[Any]) -> bool:
    """Whether a leaf is an image: `[H, W, C]` or `[C, H, W]` with few channels."""
    if not isinstance(space, Box) or len(space.shape) != 3:
        return False
    first, middle, last = space.shape
    return min(first, last) <= 16 and min(middle, max(first, last)) >= 5


def has_images(space: Space[Any]) -> bool:
    """Whether any leaf is an image."""
    return any(is_image(leaf) for _, leaf in leaves(space))


def channels_last(shape: tuple[int, ...]) -> bool:
    """Whether an image is `[H, W, C]`, also if all sizes are equal, not `[C, H, W]`."""
    first, middle, last = shape
    return first == middle or (middle != last and last < first)


def image_divisor(space: Box) -> np.ndarray:
    """The divisor that scales the values of an image to [-1, 1].

    The larger absolute bound of each value, at least 1; without bounds 255 for integers
    and 1 for floats. float64, `[]` if all are equal, else of the image's shape.
    """
    bounds = np.stack([space.low, space.high]).astype(np.float64)
    largest = np.abs(bounds).max(0)
    unknown = 255.0 if space.dtype.kind in "ui" else 1.0
    divisor = np.where(largest >= UNBOUNDED, unknown, largest.clip(min=1.0))
    alike = (divisor == divisor.flat[0]).all()
    return np.asarray(divisor.flat[0]) if alike else divisor


def quantities(space: Space[Any]) -> list[Path]:
    """Paths of the leaves that can be normalized by a mean and a scale.

    Boxes, except images, sentences, action masks, and bits (two possible values).
    """
    return [path for path, leaf in leaves(space) if _is_quantity(path, leaf)]


def _is_quantity(path: Path, leaf: Space[Any]) -> bool:
    if not isinstance(leaf, Box) or isinstance(leaf, Utf8Text) or is_image(leaf):
        return False
    if path[-1:] == ("action_mask",) or leaf.dtype == np.bool_:
        return False
    widths = leaf.high.astype(np.float64) - leaf.low.astype(np.float64)
    return leaf.dtype.kind == "f" or bool((widths > 1).any())


def choices(space: Space[Any]) -> list[int]:
    """The number of options of each choice, `[n]` for Discrete; or TypeError."""
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


class ChoiceRange(NamedTuple):
    """The valid values of a leaf of choices, `low <= value < high`: both are numbers,
    or arrays of the leaf's shape."""

    path: Path
    space: Space[Any]
    low: Any
    high: Any

    def outside(self, values: np.ndarray) -> np.ndarray:
        """Whether elements of `values [N, ...]` are outside the range, bool."""
        return (values < self.low) | (values >= self.high)


def choice_ranges(space: Space[Any]) -> list[ChoiceRange]:
    """The valid ranges of the leaves of a space that are choices."""
    ranges: list[ChoiceRange] = []
    for path, leaf in leaves(space):
        if isinstance(leaf, Discrete):
            low, count = int(leaf.start), int(leaf.n)
        elif isinstance(leaf, MultiDiscrete):
            low, count = leaf.start, leaf.nvec
        elif isinstance(leaf, MultiBinary):
            low, count = 0, 2
        else:
            continue
        ranges.append(ChoiceRange(path, leaf, low, low + count))
    return ranges
