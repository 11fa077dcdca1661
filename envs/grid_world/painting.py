"""Images of grids: rendering, and sprites of cells for pixel observations."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from yieldrl.envs.grid_world.objects import COLORS, KINDS

CELL = 32  # pixels of a cell when rendering
FLOOR, LINE, AGENT = (250, 250, 250), (225, 225, 225), (60, 60, 60)
FINENESS = 16  # samples across a pixel, for smooth edges


def picture(state: Mapping[str, np.ndarray], height: int, width: int) -> np.ndarray:
    """Render one grid from above, uint8 `[height * CELL, width * CELL, 3]`: a ring is
    the agent, a frame marks the goal."""
    pixels = np.full((height * CELL, width * CELL, 3), FLOOR, np.uint8)
    pixels[::CELL] = pixels[:, ::CELL] = LINE
    inside = masks(CELL, sizes=(0.6, 0.65, 0.7), ring=(0.75, 0.12))

    def paint(cell: Any, mask: str, color: tuple[int, int, int]) -> None:
        row, column = divmod(int(cell), width)
        part = pixels[row * CELL :, column * CELL :][:CELL, :CELL]
        part[inside[mask]] = color

    for cell, kind in zip(state["objects"], state["kinds"], strict=True):
        color, shape = KINDS[kind]
        paint(cell, shape, COLORS[color])
    paint(state["objects"][state["goal"]], "frame", AGENT)
    paint(state["agent"], "ring", AGENT)
    return pixels


def sprites(size: int) -> np.ndarray:
    """Images of all possible cells, uint8 `[2 + 2 * 12, size, size, 3]`, smoothed:
    empty floor, each of `KINDS` on it, and the same with the agent over
    them."""
    # Large shapes, and a ring at the rim, so that they differ even in six pixels.
    fine = masks(size * FINENESS, sizes=(2 / 3, 0.8, 0.9), ring=(1.05, 0.2))
    parts = {
        name: mask.reshape(size, FINENESS, size, FINENESS).mean((1, 3))[..., None]
        for name, mask in fine.items()
    }
    floor = np.full((size, size, 3), FLOOR, np.float64)

    def over(below: np.ndarray, shape: str, color: tuple[int, int, int]) -> np.ndarray:
        return below + parts[shape] * (np.array(color) - below)

    cells = [floor, *(over(floor, shape, COLORS[color]) for color, shape in KINDS)]
    cells += [over(cell, "ring", AGENT) for cell in cells]
    return np.stack(cells).round().astype(np.uint8)


def masks(
    size: int, sizes: tuple[float, float, float], ring: tuple[float, float]
) -> dict[str, np.ndarray]:
    """Masks of the pixels inside each shape, bool `[size, size]`; a cell is [-1, 1].
    `sizes` are half a square's side, a circle's radius and the height of a triangle's
    tip; `ring` is a radius and half a width."""
    y, x = (np.mgrid[:size, :size] + 0.5) / size * 2 - 1
    (side, radius, tip), distance = sizes, np.hypot(x, y)
    around = np.maximum(abs(x), abs(y))
    return {
        "square": around < side,
        "circle": distance < radius,
        "triangle": (y < side) & (abs(x) < (y + tip) / 1.8),
        "ring": abs(distance - ring[0]) < ring[1],
        "frame": abs(around - 0.85) < 0.06,
    }
