"""Where the arm's parts are, how it must bend to touch a place, and how to get there.

Positions are `(x, y)` in metres, with the shoulder at the origin; angles in radians.
"""

from __future__ import annotations

import numpy as np

UPPER, FORE = 0.1, 0.11  # metres from shoulder to elbow, from elbow to fingertip
LARGEST_BEND = 3.0  # of the elbow
DAMPING = 1.0  # of a joint (N m s/rad); its inertia is 1 kg m^2, and the links weigh
# next to nothing, so that one joint hardly feels the other
GEAR = 200.0  # torque (N m) of an action of 1
FREQUENCY = 8.0  # of the movements (rad/s): the one with the highest return


def positions(angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Elbow and fingertip, `[2]` each, of the joints' angles `[2]`."""
    shoulder, both = angles[0], angles[0] + angles[1]
    elbow = UPPER * np.array([np.cos(shoulder), np.sin(shoulder)])
    return elbow, elbow + FORE * np.array([np.cos(both), np.sin(both)])


def turns(target: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """How far each joint must turn for the fingertip to be at a target `[2]`, `[2]`.

    Of the two ways to bend the elbow it takes the left one, though the other may be
    nearer: cloning it with one mean per joint would learn the middle of the two, which
    touches nothing. What the arm cannot reach, it points at.

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
    """Actions float32 `[2]` of a controller that is as quick as it can be unswinging.

    With a torque of `k turn - d velocity` a joint of inertia 1 is a spring, critically
    damped if `k = w^2` and `d + DAMPING = 2 w`, for the frequency `w`.
    """
    stiffness, damping = FREQUENCY**2, 2 * FREQUENCY - DAMPING
    torque = stiffness * turn - damping * velocity
    return np.clip(torque / GEAR, -1, 1).astype(np.float32)
