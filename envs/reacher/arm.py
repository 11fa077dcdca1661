"""The arm's kinematics, its controller, and its rendering from above.

Positions are `(x, y)` in metres, with the shoulder at the origin; angles in radians.
"""

import numpy as np

UPPER, FORE = 0.1, 0.11  # metres from shoulder to elbow, from elbow to fingertip
LARGEST_BEND = 3.0  # of the elbow (rad)
DAMPING = 1.0  # of a joint (N m s/rad); its inertia is 1 kg m^2, and the links are
# so light that the joints hardly affect each other
GEAR = 200.0  # torque (N m) of an action of 1
FREQUENCY = 8.0  # of the controller (rad/s): the one with the highest return

REACH = 0.24  # metres from the shoulder, in the middle, to the picture's edges
LINK, JOINT, TIP, BALL, TABLE = 0.014, 0.019, 0.011, 0.02, 0.226  # radii in metres
FLOOR, TABLE_TOP = (250, 250, 250), (231, 234, 239)
UPPER_ARM, FOREARM, SHOULDER = (95, 105, 125), (70, 110, 200), (60, 60, 60)
FINGERTIP, TARGET = (235, 190, 60), (210, 70, 60)


def positions(angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions of elbow and fingertip, `[2]` each, from the joints' angles `[2]`."""
    shoulder, both = angles[0], angles[0] + angles[1]
    elbow = UPPER * np.array([np.cos(shoulder), np.sin(shoulder)])
    return elbow, elbow + FORE * np.array([np.cos(both), np.sin(both)])


def turns(target: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Angles `[2]` that the joints must turn to bring the fingertip to a target `[2]`.

    Of the two solutions it always takes the elbow bent to the left, even if the other
    is nearer: from a mixture, cloning with one mean per joint would learn the average,
    which misses the target. If the target is out of reach, the arm points at it.

    Source: the law of cosines, as in Craig (2005), "Introduction to Robotics", 4.4.
    """
    square = float(target @ target)
    cosine = (square - UPPER**2 - FORE**2) / (2 * UPPER * FORE)
    bend = min(np.arccos(np.clip(cosine, -1, 1)), LARGEST_BEND)
    ahead = np.arctan2(FORE * np.sin(bend), UPPER + FORE * np.cos(bend))
    shoulder = np.arctan2(target[1], target[0]) - ahead
    turn = (shoulder - angles[0] + np.pi) % (2 * np.pi) - np.pi
    return np.array([turn, bend - angles[1]])


def action(turn: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Actions float32 `[2]` of a critically damped controller, the fastest without
    oscillation.

    With a torque of `k turn - d velocity` a joint of inertia 1 is a spring, critically
    damped if `k = w^2` and `d + DAMPING = 2 w`, for the frequency `w`.
    """
    stiffness, damping = FREQUENCY**2, 2 * FREQUENCY - DAMPING
    torque = stiffness * turn - damping * velocity
    return np.clip(torque / GEAR, -1, 1).astype(np.float32)


class Painter:
    """Draws an arm of two links, its fingertip and the ball, on `size` pixels squared:
    x to the right, y up, the ball over the links and the fingertip over the ball. A
    pixel takes on a colour as far as its middle is inside of a shape, over the width of
    a pixel."""

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
        color: tuple[int, int, int],
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
