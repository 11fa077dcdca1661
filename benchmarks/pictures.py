"""Draw the pictures of `docs/worlds.md`: each world as its own `render` shows it, or as
a policy sees it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from yieldrl.envs import expert_actions  # which registers the worlds too

from .demos import SITE

FOLDER = Path(__file__).parents[1] / "docs" / "assets" / "worlds"
LARGEST = 240  # pixels of the longer side


class Picture(NamedTuple):
    """What is drawn after `steps` of random actions; by `render`, or, of a
    `pixel_size`, the observation after steps of the expert."""

    env_id: str
    steps: int = 0
    seed: int = 0
    colors: int = 64
    pixel_size: int = 0
    kwargs: Mapping[str, Any] = {}


WORLDS = {name: Picture(**fields) for name, fields in SITE["pictures"].items()}


def draw_all(folder: Path = FOLDER) -> Iterator[Path]:
    for name in WORLDS:
        yield draw(name, folder)


def draw(name: str, folder: Path = FOLDER) -> Path:
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray(picture(WORLDS[name]))
    if max(image.size) > LARGEST:
        image.thumbnail((LARGEST, LARGEST))
    path, colors = folder / f"{name}.png", WORLDS[name].colors
    image.quantize(colors, dither=Image.Dither.NONE).save(path, optimize=True)
    return path


def picture(of: Picture) -> np.ndarray:
    """The picture uint8 `[H, W, 3]` of the first of a batch of worlds."""
    kwargs = {**of.kwargs, "render_mode": "rgb_array"}
    envs: Any = gymnasium.make_vec(of.env_id, num_envs=1, **kwargs)
    obs, _ = envs.reset(seed=of.seed)
    envs.action_space.seed(of.seed)
    for _ in range(of.steps):
        seen = of.pixel_size > 0
        obs, *_ = envs.step(
            expert_actions(envs) if seen else envs.action_space.sample()
        )
    if of.pixel_size:
        image = np.asarray(obs["rgb"][0])
        image = image.repeat(of.pixel_size, 0).repeat(of.pixel_size, 1)
    else:
        (image,) = envs.render()
    envs.close()
    return image
