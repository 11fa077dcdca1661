"""The centre of pictures, by hand and in what a model reads."""

from __future__ import annotations

import numpy as np
import torch
from gymnasium.spaces import Box, Dict
from tensordict import TensorDict

from yieldrl.vla.crops import centre_cropped
from yieldrl.vla.observations import ObservationReader

IMAGE = torch.arange(64, dtype=torch.uint8).view(1, 8, 8, 1)


def test_all_of_an_image_is_the_image_itself() -> None:
    assert centre_cropped(IMAGE, 1.0) is IMAGE


def test_a_quarter_of_the_area_is_half_of_each_side() -> None:
    seen = centre_cropped(IMAGE, 0.25)
    assert (seen.shape, seen.dtype) == (IMAGE.shape, torch.uint8)
    corners = [seen[0, y, x, 0].item() for y in (0, -1) for x in (0, -1)]
    assert corners == [18, 21, 42, 45]  # rows and columns 2 to 5 of 8
    flat = centre_cropped(torch.full((2, 7, 5, 3), 0.3), 0.9)
    torch.testing.assert_close(flat, torch.full((2, 7, 5, 3), 0.3))


def test_a_model_reads_the_centre_of_every_camera() -> None:
    shape = (8, 8, 3)
    space = Dict(
        rgb=Dict(a=Box(0, 255, shape, np.uint8), b=Box(0, 255, shape, np.uint8))
    )
    generator = torch.Generator().manual_seed(0)
    draw = lambda: torch.randint(255, (2, *shape), generator=generator)  # noqa: E731
    images = {"a": draw().to(torch.uint8), "b": draw().to(torch.uint8)}
    obs = TensorDict({"rgb": images}, [2])
    seen = ObservationReader(space, {}, centre_crop=0.5)(obs)["rgb"]
    for name, image in images.items():
        assert torch.equal(seen[name], centre_cropped(image, 0.5))
        assert not torch.equal(seen[name], image)
