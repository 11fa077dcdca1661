"""Centre crops of images, enlarged to the original size."""

import math
from typing import Any

from torch import Tensor
from torch.nn import functional


def centre_cropped(images: Any, share: float) -> Any:
    """The centre of images `[B, H, W, C]`, enlarged to their size; of their dtype.

    Models that were trained on random crops read the centre crop when they act:
    Kim et al. 2024, "OpenVLA", arXiv:2406.09246, and its code, with a share of 0.9.

    Args:
        images: A tensor, or a TensorDict of cameras.
        share: Of the area that is kept, above 0; 1 changes nothing.

    >>> import torch
    >>> image = torch.arange(16.0).view(1, 4, 4, 1)
    >>> centre_cropped(image, 0.25).squeeze()  # of 5, 6, 9 and 10
    tensor([[ 5.0000,  5.2500,  5.7500,  6.0000],
            [ 6.0000,  6.2500,  6.7500,  7.0000],
            [ 8.0000,  8.2500,  8.7500,  9.0000],
            [ 9.0000,  9.2500,  9.7500, 10.0000]])
    """
    if share == 1:
        return images
    if not isinstance(images, Tensor):
        return images.apply(lambda camera: centre_cropped(camera, share))
    height, width = images.shape[1:3]
    high, wide = (max(1, round(side * math.sqrt(share))) for side in (height, width))
    top, left = (height - high) // 2, (width - wide) // 2
    centre = images[:, top : top + high, left : left + wide].movedim(-1, 1).float()
    options = {"mode": "bilinear", "align_corners": False, "antialias": True}
    enlarged = functional.interpolate(centre, (height, width), **options).movedim(1, -1)
    if not images.is_floating_point():
        enlarged = enlarged.round()
    return enlarged.to(images.dtype)
