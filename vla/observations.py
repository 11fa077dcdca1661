"""Convert an environment's observations to those that a model reads."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from gymnasium import Space
from gymnasium.spaces import Box, Dict
from tensordict import TensorDict
from torch import Tensor, nn
from torch.nn import functional

from yieldrl.core import Utf8Text, spaces
from yieldrl.core.spaces import Path
from yieldrl.core.trees import nest
from yieldrl.vla.config import OBSERVATIONS

PROMPT = "prompt"
"""Key of the embeddings in latents, see `VLAPolicy.latents`."""

TOKENS = "tokens", "token_mask"
"""Keys of the tokens of sentences, see `VLAPolicy.prepare_inputs`."""

Tokenizer = Callable[[Tensor], tuple[Tensor, Tensor]]


def is_latent(obs: Any) -> bool:
    """Whether these are latents, as `VLAPolicy.latents` returns, not observations."""
    return isinstance(obs, TensorDict) and PROMPT in obs.keys()  # noqa: SIM118


class Source(NamedTuple):
    """The source of one of a model's inputs.

    Attributes:
        kind: `rgb`, `depth`, `proprio` or `language`.
        path: Its path in the environment's observations.
        space: Of one such observation.
        divisor: Of an image that comes neither in bytes nor in floats up to 1: colours
            of whole numbers become the former, others the latter. None for those.
    """

    kind: str
    path: Path
    space: Box
    divisor: Tensor | None

    @classmethod
    def of(cls, name: Path, path: Path, space: Space[Any]) -> Self:
        """The source of an input; ValueError if its space does not fit."""
        kind = name[0]
        axes = {"rgb": 3, "depth": 3, "language": 1}.get(kind)
        if not isinstance(space, Box) or axes not in (None, len(space.shape)):
            texts = {3: "images [H, W, C]", 1: "a Utf8Text"}
            raise ValueError(
                f"{'.'.join(name)} comes from {'.'.join(path) or 'observations'} of"
                f" {space}, and must be {texts.get(axes or 0, 'a Box of numbers')}: map"
                " another entry with observation_keys"
            )
        floats, scale = space.dtype.kind == "f", spaces.image_divisor(space)
        as_it_is = axes != 3 or (space.dtype == np.uint8 and (scale == 255).all())
        if as_it_is or (floats and (kind == "depth" or (scale == 1).all())):
            return cls(kind, path, space, None)
        return cls(kind, path, space, torch.from_numpy(np.array(scale, np.float32)))

    def find(self, obs: Any) -> Tensor:
        """The entry in an environment's observations."""
        for name in self.path:
            obs = obs[name]
        return obs

    def converted(self, leaf: Tensor) -> Tensor:
        """Entries `[B, ...]` as the model reads them."""
        if self.kind == "proprio":
            return leaf.reshape(len(leaf), -1).float()
        if self.divisor is not None:
            leaf = leaf.float() / self.divisor.to(leaf.device)
            if self.kind == "rgb" and self.space.dtype.kind != "f":
                leaf = (255 * leaf).round().clamp(0, 255).to(torch.uint8)
        is_image = self.kind in ("rgb", "depth")
        if is_image and not spaces.channels_last(self.space.shape):
            return leaf.permute(0, 2, 3, 1)
        return leaf

    def read_space(self) -> Space[Any]:
        """The space of one such input, as the model reads it."""
        if self.kind == "language":
            return self.space
        bounds = torch.from_numpy(np.stack([self.space.low, self.space.high]))
        low, high = self.converted(bounds).numpy()
        return Box(low, high, dtype=low.dtype.type)


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
    inputs: dict[Path, Source] = {}
    named = {name.split(".")[0] for name in observation_keys}
    unmapped = {
        kind: kind for kind in OBSERVATIONS if kind in space.spaces.keys() - named
    }
    for name, key in {**observation_keys, **unmapped}.items():
        at = tuple(name.split("."))
        for start in ((key,), tuple(key.split(".")), (name,), at):
            if (child := _child(space, start)) is not None:
                break
        else:
            raise ValueError(
                f"observation_keys[{name!r}] = {key!r}: observations have"
                f" {sorted('.'.join(path) for path, _ in spaces.leaves(space))}"
            )
        for below, leaf in spaces.leaves(child):
            inputs[*at, *below] = Source.of((*at, *below), (*start, *below), leaf)
    if not inputs:
        raise ValueError(
            f"a model reads {', '.join(OBSERVATIONS)}, and observations have"
            f" {sorted(space)}: say which is which with observation_keys"
        )
    return inputs


def vla_space(
    space: Space[Any], observation_keys: Mapping[str, str], instruction: str = ""
) -> Dict:
    """The Dict space of what a model reads of an environment's observations.

    Images are `[H, W, C]`, proprioception is `[P]`, and `language` is always there.
    A space that it returned stays as it is.
    """
    inputs = sources(space, observation_keys)
    nested = nest((path, source.read_space()) for path, source in inputs.items())
    nested.setdefault("language", Utf8Text(max(1, len(instruction.encode()))))
    cameras = {name: Dict(x) for name, x in nested.items() if isinstance(x, dict)}
    return Dict({**nested, **cameras})


class ObservationReader(nn.Module):
    """Turns an environment's observations into a TensorDict that a model reads.

    ValueError if the space lacks what the keys name, or has nothing to read.

    Args:
        space: Of one observation of the environment.
        observation_keys: See `VLAConfig.observation_keys`.
        instruction: What to do, in words, where observations hold no sentence.
        centre_crop: See `VLAConfig.centre_crop`.
        image_size: Side of squares that `rgb` is resized to before it is cropped; None
            leaves it as it is.
        tokenizer: Makes tokens of `instruction`, once, if the model reads tokens.
    """

    def __init__(
        self,
        space: Space[Any],
        observation_keys: Mapping[str, str],
        instruction: str = "",
        centre_crop: float = 1.0,
        image_size: int | None = None,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        super().__init__()
        self.centre_crop, self.image_size = centre_crop, image_size
        self.sources = sources(space, observation_keys)
        if ("language",) in self.sources:
            return
        encoded = Utf8Text(max(1, len(instruction.encode()))).encode([instruction])
        fixed = {"language": torch.from_numpy(encoded)}  # the same in all observations
        if tokenizer is not None:
            fixed |= zip(TOKENS, tokenizer(fixed["language"]), strict=True)
        for name, tensor in fixed.items():
            self.register_buffer(name, tensor, persistent=False)

    def forward(self, obs: Any) -> TensorDict:
        """Observations `[B, ...]` of the environment as those of a model, `[B]`.

        Latents stay as they are.
        """
        if is_latent(obs):
            return obs
        batch = spaces.batch_size(obs)
        read = TensorDict({}, batch_size=[batch])
        for path, source in self.sources.items():
            seen = source.converted(source.find(obs))
            if source.kind == "rgb" and self.image_size is not None:
                seen = lanczos_resized(seen, self.image_size)
            if source.kind in ("rgb", "depth"):
                seen = centre_cropped(seen, self.centre_crop)
            read[path] = seen
        for name, fixed in self.named_buffers():
            read[name] = fixed.expand(batch, -1)
        if self.sentence is not None:
            read.update({name: obs[name] for name in TOKENS if name in {*obs.keys()}})
        return read

    @property
    def sentence(self) -> Source | None:
        """Where observations hold a sentence, among other entries."""
        source = self.sources.get(("language",))
        return source if source is not None and source.path else None

    def proprio(self, obs: Any) -> Tensor | None:
        """The proprioception `[..., P]` alone, of observations with any batch axes."""
        source = self.sources.get(("proprio",))
        if source is None:
            return None
        leaf = source.find(obs)
        axes = leaf.ndim - len(source.space.shape)
        return leaf.reshape(*leaf.shape[:axes], -1).float()


def lanczos_resized(images: Tensor, size: int) -> Tensor:
    """Images `[B, H, W, C]` as squares of `size` pixels; of their dtype.

    By Lanczos' filter of three lobes, which is wider where images shrink, as OpenVLA's
    loader has it: `tf.image.resize(..., method="lanczos3", antialias=True)`.
    """
    if images.shape[1] == images.shape[2] == size:
        return images
    down, across = (_lanczos(side, size, images.device) for side in images.shape[1:3])
    whole = torch.einsum("yh,xw,bhwc->byxc", down, across, images.float())
    if images.is_floating_point():
        return whole.clamp(0, 1).to(images.dtype)
    return whole.round().clamp(0, 255).to(images.dtype)


def _lanczos(count: int, size: int, device: torch.device) -> Tensor:
    """Weights `[size, count]` of `count` pixels in each of `size`."""
    scale = count / size
    centre = (torch.arange(size, device=device) + 0.5) * scale - 0.5
    x = (torch.arange(count, device=device) - centre.unsqueeze(1)) / max(scale, 1)
    weight = (torch.sinc(x) * torch.sinc(x / 3)).where(x.abs() < 3, 0.0)
    return weight / weight.sum(1, keepdim=True)


def centre_cropped(images: Tensor, share: float) -> Tensor:
    """The centre of images `[B, H, W, C]`, enlarged to their size; of their dtype.

    Models that were trained on random crops read the centre crop when they act:
    Kim et al. 2024, "OpenVLA", arXiv:2406.09246, and its code, with a share of 0.9. Its
    grid is that of `tf.image.crop_and_resize`: corners are the centres of pixels. Bytes
    are cut off, not rounded, as `convert_image_dtype` does. `share` is of the area that
    is kept; 1 changes nothing.

    >>> image = torch.arange(25.0).view(1, 5, 5, 1)
    >>> centre_cropped(image, 0.25).squeeze()  # from 6 to 18, the half of each side
    tensor([[ 6.0000,  6.5000,  7.0000,  7.5000,  8.0000],
            [ 8.5000,  9.0000,  9.5000, 10.0000, 10.5000],
            [11.0000, 11.5000, 12.0000, 12.5000, 13.0000],
            [13.5000, 14.0000, 14.5000, 15.0000, 15.5000],
            [16.0000, 16.5000, 17.0000, 17.5000, 18.0000]])
    """
    if share == 1:
        return images
    edge = math.sqrt(share)  # of a side
    centre = edge * torch.eye(2, 3, device=images.device).unsqueeze(0)
    grid = functional.affine_grid(
        centre, [1, 1, *images.shape[1:3]], align_corners=True
    )
    whole, grid = images.movedim(-1, 1).float(), grid.expand(len(images), -1, -1, -1)
    seen = functional.grid_sample(whole, grid, align_corners=True).movedim(1, -1)
    if not images.is_floating_point():
        seen = (seen * (255.5 / 255)).floor()
    return seen.to(images.dtype)


def has_images(observations: Mapping[str, Any]) -> bool:
    """Whether observations hold an image of any camera."""
    names = observations.keys()
    return "rgb" in names or "depth" in names


def camera_images(observations: Any, size: int, *, pad: bool = False) -> list[Tensor]:
    """Images `[B, 3, size, size]`, float32 in 0-1, of every camera, by their names.

    They are `scaled`, with `pad` or not. A depth `d` becomes the grey `d / (1 + d)`,
    which is below 1 at any distance.
    """
    images = []
    for kind in ("rgb", "depth"):
        child = observations.get(kind, {})
        one = {"": child} if isinstance(child, Tensor) else child
        for _, image in sorted(one.items()):
            image = unit_images(image)
            grey = image / (1 + image) if kind == "depth" else image
            images.append(scaled(grey.expand(-1, 3, -1, -1), size, pad=pad))
    return images


def unit_images(images: Tensor) -> Tensor:
    """Images `[B, H, W, C]` as `[B, C, H, W]`, float32: those of uint8 in 0-1."""
    channels_first = images.movedim(-1, -3).float()
    return channels_first if images.is_floating_point() else channels_first / 255


def scaled(images: Tensor, size: int, *, pad: bool = False) -> Tensor:
    """Images `[B, 3, H, W]` as squares of `size` pixels; with `pad` in their ratio, and
    grey below or beside them."""
    height, width = images.shape[-2:]
    if height == width == size:
        return images
    ratio = size / max(height, width)
    high, wide = (int(height * ratio), int(width * ratio)) if pad else (size, size)
    resized = functional.interpolate(
        images, (high, wide), mode="bicubic", antialias=True, align_corners=False
    ).clamp(0, 1)  # bicubic overshoots
    return functional.pad(resized, (0, size - wide, 0, size - high), value=0.5)


def sentence_tokens(tokenizer: Tokenizer, observations: Any) -> tuple[Tensor, Tensor]:
    """Tokens `[B, T]` of observations and their mask: those that are there already, or
    made of the sentences."""
    if TOKENS[0] in observations.keys():  # noqa: SIM118
        ids, mask = (observations[name] for name in TOKENS)
        return ids, mask
    return tokenizer(observations["language"])


def _child(space: Any, path: Path) -> Any:
    for name in path:
        if not isinstance(space, Dict) or name not in space.spaces:
            return None
        space = space[name]
    return space
