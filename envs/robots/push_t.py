"""Push-T by its state: scaled, or seen from the T with discrete moves."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.utils import RecordConstructorArgs

from yieldrl.envs.arrays import ResetResult, StepResult

_HALF_TABLE = 256  # pixels
GOAL = np.array([256, 256, np.pi / 4])  # x and y of the T on the table, and its angle

# In the T's own frame its bar is 120 x 30 and its stem 30 x 90.
CORNERS = np.array(
    [(-60, 0), (60, 0), (60, 30), (15, 30), (15, 120), (-15, 120), (-15, 30), (-60, 30)]
).astype(np.float64)
CENTRE = np.array([0.0, 45.0])  # centre of gravity

LENGTHS = 6.0, 20.0, 64.0  # of moves, in pixels
DIRECTIONS = 12
UNIT = 128.0  # pixels, of places in observations
PER_PIXEL = 0.1  # reward per pixel that the corners' error falls by
SUCCESS = 10.0


class PushT(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Push-T by its state, with scaled positions and the angle's sine and cosine.

    The environment's numbers are pixels of a table of 512 and an angle. Here places,
    those that actions send the disk to as well, count from the middle of the table in
    halves of it, and the angle is its sine and cosine: float32 `[6]` for `[5]`.

    Chi et al. 2023, "Diffusion Policy", arXiv:2303.04137.

    Raises:
        ValueError: If observations are not 5 numbers.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)
        if env.observation_space.shape != (5,):
            raise ValueError(
                f"{env} observes {env.observation_space}, and Push-T's state is 5"
                f" numbers: put {type(self).__name__} around it with obs_type='state'"
            )
        self.observation_space = Box(-1, 1, (6,), np.float32)
        self.action_space = Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> ResetResult:
        obs, info = self.env.reset(seed=seed, options=options)
        return on_the_table(obs), info

    def step(self, action: Any) -> StepResult:
        place = (np.asarray(action, np.float64) + 1) * _HALF_TABLE
        obs, reward, terminated, truncated, info = self.env.step(place)
        return on_the_table(obs), reward, terminated, truncated, info

    def action_to(self, place: np.ndarray) -> Any:
        """The action that sends the disk to a place on the table, in pixels."""
        return (place / _HALF_TABLE - 1).clip(-1, 1).astype(np.float32)

    def poses(self) -> tuple[np.ndarray, np.ndarray]:
        """The disk's place and the T's pose, in pixels and radians."""
        world: Any = self.unwrapped
        block = world.block
        return np.array(world.agent.position), np.array([*block.position, block.angle])


class PushTMoves(PushT):
    """Push-T in the T's frame, with discrete moves and a shaped reward.

    The right move depends on disk and goal in the T's frame, not on the T's place on
    the table. So these are the observation, float32 `[8]`: the disk and the goal
    from the T's centre of gravity, in its frame and in units of 128 pixels; sine and
    cosine of the remaining turn; and the disk's velocity, in 256 pixels a second.

    An action is one of `MOVES`, 36 places to send the disk to, as seen from the disk in
    the T's frame. With a choice, a policy can prefer the ways around the T on both
    sides to the one through it.

    A step's reward is the task's own less 1, so that time costs; what the T's corners
    have come nearer to their places, 0.1 a pixel of root mean square (Ng et al. 1999);
    and 10 for success.

    Chi et al. 2023, "Diffusion Policy", arXiv:2303.04137.

    Raises:
        ValueError: If observations are not 5 numbers.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.observation_space = Box(-np.inf, np.inf, (8,), np.float32)
        self.action_space = Discrete(len(MOVES))

    def reset(self, *, seed: int | None = None, options: Any = None) -> ResetResult:
        _, info = self.env.reset(seed=seed, options=options)
        self._error = self._misplaced()
        return self._seen_from_the_t(), info

    def step(self, action: Any) -> StepResult:
        disk, pose = self.poses()
        place = disk + rotated(MOVES[int(action)], pose[2])
        _, reward, terminated, truncated, info = self.env.step(place.clip(0, 512))
        before, self._error = self._error, self._misplaced()
        reward = float(reward) - 1 + PER_PIXEL * (before - self._error)
        reward += SUCCESS * terminated
        return self._seen_from_the_t(), reward, terminated, truncated, info

    def action_to(self, place: np.ndarray) -> Any:
        """The move, int64, that ends nearest to a place on the table."""
        disk, pose = self.poses()
        move = rotated(place - disk, -pose[2])
        move *= min(1, LENGTHS[-1] / max(float(np.linalg.norm(move)), 1e-6))
        return np.int64(((MOVES - move) ** 2).sum(1).argmin())

    def _misplaced(self) -> float:
        """Root mean square distance of the T's corners from their places, in pixels."""
        _, pose = self.poses()
        return float(misplaced(CORNERS, to_frame(PLACES, pose)))

    def _seen_from_the_t(self) -> np.ndarray:
        world: Any = self.unwrapped
        disk, pose = self.poses()
        goal = to_table(CENTRE, GOAL)
        places = to_frame(np.array([disk, goal]), pose) - CENTRE
        turn = GOAL[2] - pose[2]
        velocity = rotated(np.array(world.agent.velocity), -pose[2])
        angle, speed = (np.sin(turn), np.cos(turn)), velocity / (2 * UNIT)
        return np.array([*(places / UNIT).flat, *angle, *speed], np.float32)


def on_the_table(obs: np.ndarray) -> np.ndarray:
    """The state `[5]` of Push-T in halves of its table, float32 `[6]`."""
    places, angle = np.asarray(obs[:4]) / _HALF_TABLE - 1, obs[4]
    return np.array([*places.clip(-1, 1), np.sin(angle), np.cos(angle)], np.float32)


def misplaced(corners: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Root mean square distance of corners `[..., 8, 2]` from their places."""
    return np.sqrt(((corners - wanted) ** 2).sum(-1).mean(-1))


def to_frame(places: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Places on the table as points in the frame of a T with that pose, `[3]`."""
    return rotated(places - pose[:2], -pose[2])


def to_table(points: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Points in the frame of a T with that pose as places on the table."""
    return rotated(points, pose[2]) + pose[:2]


def rotated(points: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Points `[2]` or `[P, 2]` turned by angles `[...]`: `[..., 2]`, `[..., P, 2]`."""
    cos, sin = np.cos(angle), np.sin(angle)
    return points @ np.stack([np.stack([cos, sin], -1), np.stack([-sin, cos], -1)], -2)


PLACES = to_table(CORNERS, GOAL)  # goal positions of the corners, on the table
_ANGLES = np.arange(DIRECTIONS) * 2 * np.pi / DIRECTIONS
_UNITS = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], 1)
MOVES = np.concatenate([length * _UNITS for length in LENGTHS])  # [36, 2], pixels
