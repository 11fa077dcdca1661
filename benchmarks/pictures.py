"""Draw the pictures of `docs/worlds.md`: each world as its own `render` shows it, or as
a policy sees it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from yieldrl.envs import expert_actions  # which registers the worlds too

FOLDER = Path(__file__).parents[1] / "docs" / "assets" / "worlds"
LARGEST = 240  # pixels of the longer side
FEW_COLORS = 24  # for a floor whose squares get smaller and smaller


class World(NamedTuple):
    """What is drawn, and when."""

    env_id: str
    steps: int = (
        0  # before the picture is taken: random, or the expert's if it is as seen
    )
    seed: int = 0
    colors: int = 64
    seen: int = 0  # how large a pixel is drawn of what is observed, 0 for `render`
    kwargs: tuple[tuple[str, Any], ...] = ()


WORLDS = {
    "cartpole": World("yieldrl/CartPole-v1", steps=9),
    "pendulum": World("yieldrl/Pendulum-v1", steps=12),
    "acrobot": World("yieldrl/Acrobot-v1", steps=60),
    "mountain_car": World("yieldrl/MountainCar-v1", steps=60),
    "frozen_lake": World("yieldrl/FrozenLake-v1"),
    "cliff_walking": World("yieldrl/CliffWalking-v1"),
    "taxi": World("yieldrl/Taxi-v1"),
    "t_maze": World("yieldrl/TMaze-v1"),
    "go_to": World("yieldrl/GoTo-v1"),
    "go_to_pixels": World("yieldrl/GoTo-v1", seen=6, kwargs=(("view", "pixels"),)),
    "breakout": World("yieldrl/MinAtar-Breakout-v1", steps=8),
    "asterix": World("yieldrl/MinAtar-Asterix-v1", steps=32),
    "freeway": World("yieldrl/MinAtar-Freeway-v1", steps=40),
    "seaquest": World("yieldrl/MinAtar-Seaquest-v1", steps=40),
    "space_invaders": World("yieldrl/MinAtar-SpaceInvaders-v1", steps=12),
    "hopper": World("yieldrl/Hopper-v1", steps=12, colors=FEW_COLORS),
    "half_cheetah": World("yieldrl/HalfCheetah-v1", steps=40, colors=FEW_COLORS),
    "walker2d": World("yieldrl/Walker2d-v1", steps=14, colors=FEW_COLORS),
    "ant": World("yieldrl/Ant-v1", steps=30, colors=FEW_COLORS),
    "humanoid": World("yieldrl/Humanoid-v1", steps=12, colors=FEW_COLORS),
    "inverted_pendulum": World("yieldrl/InvertedPendulum-v1", steps=4),
    "reacher_images": World("yieldrl/ReacherImages-v1", steps=14, seed=3, seen=5),
}
"""By the name of the file."""


def draw_all(folder: Path = FOLDER) -> Iterator[Path]:
    """Write the picture of every world; give the files."""
    for name in WORLDS:
        yield draw(name, folder)


def draw(name: str, folder: Path = FOLDER) -> Path:
    """Write the picture of a world; give the file."""
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    world = WORLDS[name]
    image = Image.fromarray(picture(world))
    if max(image.size) > LARGEST:
        image.thumbnail((LARGEST, LARGEST))
    path = folder / f"{name}.png"
    image.quantize(world.colors, dither=Image.Dither.NONE).save(path, optimize=True)
    return path


def picture(world: World) -> np.ndarray:
    """The picture uint8 `[H, W, 3]` of the first of a batch of worlds."""
    kwargs = {**dict(world.kwargs), "render_mode": "rgb_array"}
    envs: Any = gymnasium.make_vec(world.env_id, num_envs=1, **kwargs)
    obs, _ = envs.reset(seed=world.seed)
    envs.action_space.seed(world.seed)
    for _ in range(world.steps):
        action = expert_actions(envs) if world.seen else envs.action_space.sample()
        obs, *_ = envs.step(action)
    if world.seen:
        image = np.asarray(obs["rgb"][0]).repeat(world.seen, 0).repeat(world.seen, 1)
    else:
        (image,) = envs.render()
    envs.close()
    return image
