"""Pictures of grids: one for people, and small ones of a cell for policies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from yieldrl.envs.grid_world.objects import COLORS, KINDS

CELL = 32  # pixels of a cell in pictures for people
FLOOR, LINE, AGENT = (250, 250, 250), (225, 225, 225), (60, 60, 60)
FINENESS = 16  # places across a pixel that are looked at, for smooth edges


def picture(state: Mapping[str, np.ndarray], height: int, width: int) -> np.ndarray:
    """A grid from above: a ring is the agent, a frame marks what is meant.

    Args:
        state: Of one grid: cells of `agent` and `objects [K]`, their `kinds [K]`, and
            which of them is the `goal`.
        height: Rows of cells.
        width: Cells of a row.

    Returns:
        Pixels uint8 `[height * CELL, width * CELL, 3]`.
    """
    pixels = np.full((height * CELL, width * CELL, 3), FLOOR, np.uint8)
    pixels[::CELL] = pixels[:, ::CELL] = LINE
    inside = masks(*places(CELL))

    def paint(cell: int, mask: str, color: tuple[int, int, int]) -> None:
        row, column = divmod(int(cell), width)
        part = pixels[row * CELL :, column * CELL :][:CELL, :CELL]
        part[inside[mask]] = color

    for i, (cell, kind) in enumerate(
        zip(state["objects"], state["kinds"], strict=True)
    ):
        color, shape = KINDS[kind]
        paint(cell, shape, COLORS[color])
        if i == state["goal"]:
            paint(cell, "frame", AGENT)
    paint(int(state["agent"]), "ring", AGENT)
    return pixels


def sprites(size: int) -> np.ndarray:
    """Pictures of every cell that there can be, uint8 `[2 + 2 * 12, size, size, 3]`.

    The first is empty floor and the 12 after it are those of `KINDS` on it; the other
    half are the same with the agent over them. Edges are smooth: a pixel has a colour
    to the part of it that is inside of the shape.
    """
    fine = small_masks(*places(size * FINENESS))
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


def places(size: int) -> tuple[np.ndarray, np.ndarray]:
    """How far down and to the right the pixels of a cell are, in [-1, 1]."""
    down, right = (np.mgrid[:size, :size] + 0.5) / size * 2 - 1
    return down, right


def masks(y: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    """Which places of a cell are inside of a shape, bool as `x` and `y`."""
    return {
        "square": np.maximum(abs(x), abs(y)) < 0.6,
        "circle": x**2 + y**2 < 0.65**2,
        "triangle": (y < 0.6) & (abs(x) < (y + 0.7) / 1.8),
        "ring": abs(np.hypot(x, y) - 0.75) < 0.12,
        "frame": abs(np.maximum(abs(x), abs(y)) - 0.85) < 0.06,
    }


def small_masks(y: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    """Shapes that differ in six pixels too: they fill the cell, the ring its rim."""
    distance = np.hypot(x, y)
    return {
        "square": np.maximum(abs(x), abs(y)) < 2 / 3,
        "circle": distance < 0.8,
        "triangle": (y < 2 / 3) & (abs(x) < (y + 0.9) / 1.8),
        "ring": abs(distance - 1.05) < 0.2,
    }
