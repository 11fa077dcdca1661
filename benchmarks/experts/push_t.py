"""A scripted expert for Push-T, which knows the poses: walk to the T, and push.

Points are `[..., 2]`, float64, in pixels, and in the T's own frame unless names say
otherwise. Everything that does not depend on the T's pose is computed once.
"""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from yieldrl.envs.robots.push_t import (
    CENTRE,
    CORNERS,
    PLACES,
    misplaced,
    rotated,
    to_frame,
    to_table,
)

RADIUS = 15.0  # of the disk
TABLE = 16.0, 496.0  # bounds of the disk's centre
BOXES = CORNERS[[[0, 2], [6, 4]]]  # bar and stem, two opposite corners each
INERTIA = 2 * ((120**2 + 30**2) / 12 + 15**2)  # divided by mass, as in the simulator

DEPTHS = np.array([1, 2, 4, 7, 11, 16, 23, 32, 45, 60], np.float64)  # of pushes
SPACING = 7.5  # distance between places to push at
STAND_OFF = 6.0  # gap between disk and T before a push
ROOM = 19.0  # distance from the T of a disk that walks around a corner
TRAVEL = 0.01  # cost, in pixels of error, of a pixel of way
LEAD = 1.6  # target distance over the wanted distance in a step


class PushTExpert(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Adds the expert to a `PushT` or `PushTMoves`, which it goes around."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)

    def expert(self) -> Any:
        """The action that sends the disk to `place_to_push`, or nearly there."""
        disk, pose = self.get_wrapper_attr("poses")()
        return self.get_wrapper_attr("action_to")(place_to_push(disk, pose))


def place_to_push(disk: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """The disk's next target, float64 `[2]`, in pixels of the table.

    It leads to the push that brings the T's corners nearest to their places, with a
    cost of `TRAVEL` times the way to it. The push is chosen again at every step.

    Args:
        disk: The disk's centre on the table, `[2]`.
        pose: x and y of the T on the table, and its angle in radians, `[3]`.
    """
    here = to_frame(disk, pose)
    after = misplaced(OUTCOMES, to_frame(PLACES, pose))  # [depths, contacts]
    clear_of_it = backed_off(here)
    way, towards = ways_around(clear_of_it, pose)
    touching = touched(here)
    gained = -after.min(0) - TRAVEL * np.where(touching, 0, way)
    best = np.where(on_table(to_table(DISKS, pose)), gained, -np.inf).argmax()
    if touching[best]:
        depth = DEPTHS[after[:, best].argmin()]
        to = here + LEAD * (DISKS[best] + depth * NORMALS[best] - here)
    elif distance(here) < RADIUS + 1:
        to = here + 4 * (clear_of_it - here)
    else:
        to = towards[best]
    return to_table(to, pose)


def touched(here: np.ndarray) -> np.ndarray:
    """Whether a disk stands at, or in front of, each contact, bool `[contacts]`."""
    gap = here - DISKS
    deep = (gap * NORMALS).sum(1)
    across = gap[:, 0] * NORMALS[:, 1] - gap[:, 1] * NORMALS[:, 0]
    return (abs(across) < SPACING / 2) & (abs(deep) < RADIUS - 1)


def backed_off(here: np.ndarray) -> np.ndarray:
    """The position of a disk after leaving the T; unchanged if it does not touch it."""
    gaps = from_boxes(here)
    lengths = np.linalg.norm(gaps, axis=-1)
    near = lengths.min()
    away = gaps[lengths.argmin()] if near > 0 else here - CENTRE + (0, 1e-6)
    return here + away / np.linalg.norm(away) * max(RADIUS + 1.5 - near, 0)


def ways_around(here: np.ndarray, pose: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of the ways to the front of each contact, `[contacts]`, and their first
    points, `[contacts, 2]`: shortest ways by the T's outer corners."""
    barred = np.where(on_table(to_table(TURNS, pose)), 0, np.inf)
    between = BETWEEN + barred
    for turn in range(len(TURNS)):  # Floyd-Warshall
        between = np.minimum(between, between[:, turn, None] + between[turn])
    begin = straight(here, TURNS) + barred
    by_turns = (begin[:, None, None] + between[..., None] + LAST).min(1)
    ways = np.concatenate([straight(here, STANDS)[None], by_turns])
    first = ways.argmin(0)
    every = np.arange(len(STANDS))
    return ways[first, every], FIRST[first, every]


def straight(begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Lengths of straight ways, `[...]`; infinite where the disk would touch the T."""
    share = np.linspace(0, 1, 24)[:, None]
    points = begin[..., None, :] * (1 - share) + end[..., None, :] * share
    clear = distance(points).min(-1) >= RADIUS + 1
    return np.where(clear, np.linalg.norm(end - begin, axis=-1), np.inf)


def pushed(contacts: np.ndarray, normals: np.ndarray, depths: np.ndarray) -> np.ndarray:
    """Corners `[depths, contacts, 8, 2]` of the T after pushes along the normals.

    Nothing slides on by itself here, and no friction drags the T along a side, so an
    impulse `j` at the contact moves it by `j` along the normal and turns it by
    `j * torque / INERTIA`; the contact gives way by `j * (1 + torque^2 / INERTIA)`.
    """
    arms = contacts - CENTRE
    torque = arms[:, 0] * normals[:, 1] - arms[:, 1] * normals[:, 0]
    impulse = depths[:, None] / (1 + torque**2 / INERTIA)
    turned = rotated(CORNERS - CENTRE, impulse * torque / INERTIA) + CENTRE
    return turned + (impulse[..., None] * normals)[..., None, :]


def contacts() -> tuple[np.ndarray, np.ndarray]:
    """Points where the disk has room to push, and inward normals, `[contacts, 2]`."""
    points, normals = [], []
    for begin, end in zip(CORNERS, np.roll(CORNERS, -1, 0), strict=True):
        length = np.linalg.norm(end - begin)
        along = (end - begin) / length
        inwards = np.array([-along[1], along[0]])
        for way in np.arange(4.0, length - 3, SPACING):
            point = begin + along * way
            if distance(point - RADIUS * inwards) >= RADIUS - 1e-6:
                points.append(point)
                normals.append(inwards)
    return np.array(points), np.array(normals)


def distance(points: np.ndarray) -> np.ndarray:
    """Distances of points from the T, `[...]`; 0 inside of it."""
    return np.linalg.norm(from_boxes(points), axis=-1).min(-1)


def from_boxes(points: np.ndarray) -> np.ndarray:
    """Vectors to points from the nearest points of bar and stem, `[..., 2, 2]`."""
    points = points[..., None, :]
    return points - points.clip(BOXES[:, 0], BOXES[:, 1])


def on_table(places: np.ndarray) -> np.ndarray:
    """Whether the disk can be at places on the table, `[...]`."""
    return np.all((places > TABLE[0]) & (places < TABLE[1]), -1)


CONTACTS, NORMALS = contacts()
DISKS = CONTACTS - RADIUS * NORMALS  # the disk's centre at each contact
STANDS = DISKS - STAND_OFF * NORMALS
OUTCOMES = pushed(CONTACTS, NORMALS, DEPTHS)
OUTER = np.delete(CORNERS, (3, 6), 0)
TURNS = OUTER + ROOM * np.sign(OUTER - (0, 20))  # turning points of ways
FIRST = np.concatenate([STANDS[None], np.repeat(TURNS[:, None], len(STANDS), 1)])
BETWEEN, LAST = straight(TURNS[:, None], TURNS), straight(TURNS[:, None], STANDS)
