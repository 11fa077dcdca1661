"""Convert images in observations to inputs of vision encoders."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor
from torch.nn import functional


def has_images(observations: Mapping[str, Any]) -> bool:
    """Whether observations hold an image of any camera."""
    names = observations.keys()
    return "rgb" in names or "depth" in names


def camera_images(observations: Any, size: int) -> list[Tensor]:
    """Images `[B, 3, size, size]`, float32 in 0-1, of every camera, by their names.

    A depth `d` becomes the grey `d / (1 + d)`, which is below 1 at any distance.
    """
    images, names = [], observations.keys()
    for kind in [kind for kind in ("rgb", "depth") if kind in names]:
        child = observations[kind]
        if isinstance(child, Tensor):
            cameras = [child]
        else:
            cameras = [child[name] for name in sorted(child.keys())]
        for image in map(unit_images, cameras):
            grey = image / (1 + image) if kind == "depth" else image
            images.append(scaled(grey.expand(-1, 3, -1, -1), size))
    return images


def unit_images(images: Tensor) -> Tensor:
    """Images `[B, H, W, C]` as `[B, C, H, W]`, float32: those of uint8 in 0-1."""
    channels_first = images.movedim(-1, -3).float()
    return channels_first if images.is_floating_point() else channels_first / 255


def scaled(images: Tensor, size: int) -> Tensor:
    """Images `[B, 3, H, W]` as squares of `size` pixels."""
    if images.shape[-1] == images.shape[-2] == size:
        return images
    resized = functional.interpolate(
        images, (size, size), mode="bicubic", antialias=True, align_corners=False
    )
    return resized.clamp(0, 1)  # bicubic overshoots
