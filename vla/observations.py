"""From an environment's observations to those that a model reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium import Space
from gymnasium.spaces import Box, Dict
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.foundations import Utf8Text, spaces
from yieldrl.foundations.spaces import Path
from yieldrl.vla.config import OBSERVATIONS
from yieldrl.vla.pictures import Picture


class Source(NamedTuple):
    """Where a leaf of what a model reads comes from.

    Attributes:
        path: Where it lies in the environment's observations.
        space: Of one such observation.
        picture: What becomes of an image first; None if it stays as it is.
    """

    path: Path
    space: Box
    picture: Picture | None = None


def sources(
    space: Space[Any], observation_keys: Mapping[str, str]
) -> dict[Path, Source]:
    """Which of an environment's observations a model reads, by where it reads them.

    Observations that are no Dict are `rgb` if they are an image, `language` if they are
    text, and `proprio` otherwise. Entries of other names that nothing maps are left
    out.

    Args:
        space: Of one observation.
        observation_keys: See `VLAConfig.observation_keys`. A space that has the
            models' own names already may go without what the mapping names.

    Raises:
        ValueError: If an entry is missing, of a wrong shape, or if nothing is left.
    """
    if not isinstance(space, Dict):
        kind = "rgb" if spaces.is_image(space) else "proprio"
        kind = "language" if isinstance(space, Utf8Text) else kind
        return {(kind,): _source((kind,), (), space)}
    found: dict[Path, Source] = {}
    named = {name.split(".")[0] for name in observation_keys}
    own = {kind: kind for kind in OBSERVATIONS if kind in space.spaces.keys() - named}
    for name, key in {**observation_keys, **own}.items():
        at, start = tuple(name.split(".")), _locate(space, key)
        start = _locate(space, name) if start is None else start
        if start is None:
            raise ValueError(
                f"observation_keys[{name!r}] = {key!r}: observations have"
                f" {sorted('.'.join(path) for path, _ in spaces.leaves(space))}"
            )
        for below, leaf in spaces.leaves(_child(space, start)):
            found[*at, *below] = _source((*at, *below), (*start, *below), leaf)
    if not found:
        raise ValueError(
            f"a model reads {', '.join(OBSERVATIONS)}, and observations have"
            f" {sorted(space)}: say which is which with observation_keys"
        )
    return found


def vla_space(
    space: Space[Any], observation_keys: Mapping[str, str], instruction: str = ""
) -> Dict:
    """The Dict space of what a model reads of an environment's observations.

    Images are `[H, W, C]`, proprioception is `[P]`, and `language` is always there.
    Applied to what it returned it changes nothing.
    """
    nested: dict[str, Any] = {}
    for path, source in sources(space, observation_keys).items():
        inner = nested
        for name in path[:-1]:
            inner = inner.setdefault(name, {})
        inner[path[-1]] = _read_space(path[0], source)
    nested.setdefault("language", Utf8Text(max(1, len(instruction.encode()))))
    return Dict({name: _dict_space(child) for name, child in nested.items()})


class ObservationReader(nn.Module):
    """Turns an environment's observations into a TensorDict that a model reads.

    Args:
        space: Of one observation of the environment.
        observation_keys: See `VLAConfig.observation_keys`.
        instruction: What to do, where observations hold no sentence.

    Raises:
        ValueError: If the space lacks what the keys name, or has nothing to read.
    """

    instruction: Tensor

    def __init__(
        self,
        space: Space[Any],
        observation_keys: Mapping[str, str],
        instruction: str = "",
    ) -> None:
        super().__init__()
        self.sources = sources(space, observation_keys)
        encoded = Utf8Text(max(1, len(instruction.encode()))).encode(instruction)
        self.register_buffer("instruction", torch.from_numpy(encoded), persistent=False)

    def forward(self, obs: Any) -> TensorDict:
        """Observations `[B, ...]` of the environment as those of a model, `[B]`."""
        batch = spaces.batch_size(obs)
        read = TensorDict({}, batch_size=[batch])
        for path, source in self.sources.items():
            read[path] = _read(path[0], source, _leaf(obs, source.path))
        if ("language",) not in self.sources:
            read["language"] = self.instruction.expand(batch, -1)
        return read

    def proprio(self, obs: Any) -> Tensor | None:
        """The proprioception `[..., P]` alone, of observations with any batch axes."""
        source = self.sources.get(("proprio",))
        if source is None:
            return None
        leaf = _leaf(obs, source.path)
        axes = leaf.ndim - len(source.space.shape)
        return leaf.reshape(*leaf.shape[:axes], -1).float()


def _leaf(obs: Any, path: Path) -> Tensor:
    for name in path:
        obs = obs[name]
    return obs


def _read(kind: str, source: Source, leaf: Tensor) -> Tensor:
    """A leaf `[B, ...]` as the model reads it."""
    if kind == "proprio":
        return leaf.reshape(len(leaf), -1).float()
    leaf = leaf if source.picture is None else source.picture.convert(leaf)
    if kind != "language" and not spaces.channels_last(source.space.shape):
        return leaf.permute(0, 2, 3, 1)
    return leaf


def _read_space(kind: str, source: Source) -> Box:
    """Of a leaf as the model reads it."""
    space = source.space if source.picture is None else source.picture.space
    if kind == "proprio":
        low, high = space.low.reshape(-1), space.high.reshape(-1)
        return Box(low.astype(np.float32), high.astype(np.float32))
    if kind != "language" and not spaces.channels_last(space.shape):
        low, high = (np.moveaxis(bound, 0, -1) for bound in (space.low, space.high))
        return Box(low, high, dtype=space.dtype.type)
    return space


def _dict_space(child: Any) -> Space[Any]:
    if isinstance(child, dict):
        return Dict({name: _dict_space(leaf) for name, leaf in child.items()})
    return child


def _locate(space: Dict, key: str) -> Path | None:
    """Where an entry lies: its whole name, or names with dots between."""
    for path in ((key,), tuple(key.split("."))):
        if _child(space, path) is not None:
            return path
    return None


def _child(space: Any, path: Path) -> Any:
    for name in path:
        if not isinstance(space, Dict) or name not in space.spaces:
            return None
        space = space[name]
    return space


def _source(at: Path, path: Path, space: Space[Any]) -> Source:
    """A leaf that fits what is read there.

    Raises:
        ValueError: If it does not.
    """
    kind, name = at[0], ".".join(at)
    axes = {"rgb": 3, "depth": 3, "language": 1}.get(kind)
    nests = kind in ("rgb", "depth") or len(at) == 1
    if nests and isinstance(space, Box) and axes in (None, len(space.shape)):
        picture = Picture.of(kind, space) if axes == 3 else None
        return Source(path, space, picture)
    wanted = {3: "images [H, W, C]", 1: "a Utf8Text"}.get(axes or 0, "a Box of numbers")
    raise ValueError(
        f"{name} comes from {'.'.join(path) or 'observations'} of {space}, and must be"
        f" {wanted}: map another entry with observation_keys"
    )
