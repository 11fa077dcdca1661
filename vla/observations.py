"""Convert an environment's observations to those that a model reads."""

from collections.abc import Mapping
from typing import Any

import torch
from gymnasium import Space
from gymnasium.spaces import Dict
from tensordict import TensorDict
from torch import Tensor, nn

from yieldrl.core import Utf8Text, spaces
from yieldrl.core.spaces import Path
from yieldrl.core.trees import nest
from yieldrl.vla.config import OBSERVATIONS
from yieldrl.vla.crops import centre_cropped
from yieldrl.vla.latents import is_latent
from yieldrl.vla.sources import Source


def sources(
    space: Space[Any], observation_keys: Mapping[str, str]
) -> dict[Path, Source]:
    """The source of each of a model's inputs in an environment's observations.

    Observations that are no Dict are `rgb` if they are an image, `language` if they are
    text, and `proprio` otherwise. Entries of other names that nothing maps are left
    out. What `observation_keys` name may be missing where the model's own name is.
    ValueError if an entry is missing, of a wrong shape, or if nothing is left.
    """
    if not isinstance(space, Dict):
        kind = "rgb" if spaces.is_image(space) else "proprio"
        kind = "language" if isinstance(space, Utf8Text) else kind
        return {(kind,): Source.of((kind,), (), space)}
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
            found[*at, *below] = Source.of((*at, *below), (*start, *below), leaf)
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
    A space that it returned stays as it is.
    """
    found = sources(space, observation_keys)
    nested = nest((path, source.read_space()) for path, source in found.items())
    nested.setdefault("language", Utf8Text(max(1, len(instruction.encode()))))
    return _dict_space(nested)


class ObservationReader(nn.Module):
    """Turns an environment's observations into a TensorDict that a model reads.

    ValueError if the space lacks what the keys name, or has nothing to read.

    Args:
        space: Of one observation of the environment.
        observation_keys: See `VLAConfig.observation_keys`.
        instruction: What to do, in words, where observations hold no sentence.
        centre_crop: See `VLAConfig.centre_crop`.
    """

    instruction: Tensor

    def __init__(
        self,
        space: Space[Any],
        observation_keys: Mapping[str, str],
        instruction: str = "",
        centre_crop: float = 1.0,
    ) -> None:
        super().__init__()
        self.centre_crop = centre_crop
        self.sources = sources(space, observation_keys)
        encoded = Utf8Text(max(1, len(instruction.encode()))).encode(instruction)
        self.register_buffer("instruction", torch.from_numpy(encoded), persistent=False)

    def forward(self, obs: Any) -> TensorDict:
        """Observations `[B, ...]` of the environment as those of a model, `[B]`.

        Latents stay as they are.
        """
        if is_latent(obs):
            return obs
        batch = spaces.batch_size(obs)
        read = TensorDict({}, batch_size=[batch])
        for path, source in self.sources.items():
            read[path] = source.read(obs)
        if ("language",) not in self.sources:
            read["language"] = self.instruction.expand(batch, -1)
        for kind in {"rgb", "depth"}.intersection(read.keys()):
            read[kind] = centre_cropped(read[kind], self.centre_crop)
        return read

    def proprio(self, obs: Any) -> Tensor | None:
        """The proprioception `[..., P]` alone, of observations with any batch axes."""
        source = self.sources.get(("proprio",))
        if source is None:
            return None
        leaf = source.find(obs)
        axes = leaf.ndim - len(source.space.shape)
        return leaf.reshape(*leaf.shape[:axes], -1).float()


def _dict_space(child: Any) -> Any:
    if not isinstance(child, dict):
        return child
    return Dict({name: _dict_space(leaf) for name, leaf in child.items()})


def _locate(space: Dict, key: str) -> Path | None:
    """The path of an entry: its whole name, or names separated by dots."""
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
