"""The arm from above, painted without OpenGL: equal on every machine."""

from __future__ import annotations

import numpy as np

from yieldrl.envs.reacher.arm import positions

REACH = 0.24  # metres from the shoulder, in the middle, to the picture's edges
LINK, JOINT, TIP, BALL, TABLE = 0.014, 0.019, 0.011, 0.02, 0.226  # radii in metres
FLOOR, TABLE_TOP = (250, 250, 250), (231, 234, 239)
UPPER_ARM, FOREARM, SHOULDER = (95, 105, 125), (70, 110, 200), (60, 60, 60)
FINGERTIP, TARGET = (235, 190, 60), (210, 70, 60)

Color = tuple[int, int, int]


class Painter:
    """Draws an arm of two links, its fingertip and the ball, on `size` pixels squared.

    x is to the right and y up. The ball hides the links, and the fingertip the ball.
    Edges are smooth: a pixel takes on a colour as far as its middle is inside of the
    shape, over the width of a pixel.
    """

    def __init__(self, size: int) -> None:
        self.size, self.pixel = size, 2 * REACH / size  # metres
        right = (np.arange(size) + 0.5) * self.pixel - REACH
        places = np.stack(np.meshgrid(right, -right), -1)
        self._places = places.astype(np.float32)  # [size, size, 2]
        self._empty = np.full((size, size, 3), FLOOR, np.float32)
        self._line(self._empty, np.zeros(2), np.zeros(2), TABLE, TABLE_TOP)

    def draw(self, angles: np.ndarray, ball: np.ndarray) -> np.ndarray:
        """A picture uint8 `[size, size, 3]`, of angles (rad) and where the ball is."""
        picture, shoulder = self._empty.copy(), np.zeros(2)
        elbow, tip = positions(angles)
        self._line(picture, shoulder, elbow, LINK, UPPER_ARM)
        self._line(picture, elbow, tip, LINK, FOREARM)
        self._line(picture, shoulder, shoulder, JOINT, SHOULDER)
        self._line(picture, ball, ball, BALL, TARGET)
        self._line(picture, tip, tip, TIP, FINGERTIP)
        return picture.round().astype(np.uint8)

    def _line(
        self,
        picture: np.ndarray,
        start: np.ndarray,
        end: np.ndarray,
        radius: float,
        color: Color,
    ) -> None:
        """Paint a line with round ends, or a disc if it is a point."""
        margin = radius + self.pixel
        low, high = np.minimum(start, end) - margin, np.maximum(start, end) + margin
        corners = np.array([-high[1], -low[1], low[0], high[0]])  # rows go down
        edges = ((corners + REACH) / self.pixel).astype(int).clip(0, self.size)
        part = slice(edges[0], edges[1] + 1), slice(edges[2], edges[3] + 1)
        away, line = self._places[part] - start, end - start
        square = float(line @ line)
        if square:
            along = (away @ line / square).clip(0, 1)
            away = away - along[..., None] * line
        distance = np.sqrt((away * away).sum(-1)) - radius
        inside = (0.5 - distance / self.pixel).clip(0, 1)[..., None]
        picture[part] += inside * (np.array(color) - picture[part])
