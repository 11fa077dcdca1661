"""Gymnasium's Reacher-v5 with images and an instruction: an arm touches a ball.

Positions are `(x, y)` in metres, with the shoulder at the origin; angles in radians.
"""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import DependencyNotInstalled

from yieldrl.core.text import Utf8Text
from yieldrl.envs.arrays import ResetResult, StepResult
from yieldrl.envs.batched.inputs import check_choice, check_range

INSTRUCTION = "touch the red ball"
SUCCESS_DISTANCE = 0.02  # metres, the radius of the ball in the image
LARGE = 240  # pixels of rendered frames

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


class ReacherImagesEnv(gym.Env[Any, Any]):
    """Touch the ball with the fingertip of an arm of two links.

    Physics (MuJoCo's), actions, rewards and first states are those of Gymnasium's
    Reacher-v5, bit by bit; only the image shows the ball's position. An action
    is the torque at shoulder and elbow, in [-1, 1] (200 N m). A reward is minus the
    distance of fingertip and ball (m), minus the square of the action. Episodes are cut
    after 50 steps of 0.02 s.

    Observations are `rgb`, uint8 `[pixels, pixels, 3]`, painted from above without
    OpenGL; `proprio`, float32 `[6]`, the cosines of both angles, their sines, and the
    velocities (rad/s); and `language`, the instruction's bytes in UTF-8.

    `info["success"]` says whether the fingertip is within 2 cm of the ball's middle,
    the ball's radius in the picture. An episode succeeded if its last step did.

    Args:
        pixels: Width and height of the image.
        instruction: The instruction, the same in all episodes.
        render_mode: None, or "rgb_array" for larger frames.

    Raises:
        ImportError: If mujoco is missing.
        ValueError: If an argument is not as above.

    Example:
        >>> env = ReacherImagesEnv()
        >>> obs, _ = env.reset(seed=0)
        >>> for _ in range(50):
        ...     obs, reward, *_, info = env.step(env.expert())
        >>> info["success"], obs["rgb"].shape
        (True, (48, 48, 3))
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 50}  # noqa: RUF012
    info_keys = ("success",)

    def __init__(
        self,
        *,
        pixels: int = 48,
        instruction: str = INSTRUCTION,
        render_mode: str | None = None,
    ) -> None:
        check_range("pixels", pixels, 16)  # or the ball is less than a pixel wide
        check_choice("render_mode", render_mode, (None, "rgb_array"))
        try:
            from gymnasium.envs.mujoco.reacher_v5 import ReacherEnv
        except (ImportError, DependencyNotInstalled) as reason:
            needed = "yieldrl/ReacherImages-v1 needs mujoco: pip install"
            raise ImportError(f"{needed} 'yieldrl[mujoco]'") from reason
        self.inside: Any = ReacherEnv()
        self.render_mode = render_mode
        self.action_space = self.inside.action_space
        text = Utf8Text(len(instruction.encode()))
        bounds = np.array([1, 1, 1, 1, np.inf, np.inf], np.float32)
        self.observation_space = spaces.Dict(
            rgb=spaces.Box(0, 255, (pixels, pixels, 3), np.uint8),
            proprio=spaces.Box(-bounds, bounds),
            language=text,
        )
        self._sentence = text.encode(instruction)
        self._painter, self._large = Painter(pixels), Painter(LARGE)

    def reset(self, *, seed: int | None = None, options: Any = None) -> ResetResult:
        super().reset(seed=seed)
        self.inside.reset(seed=seed, options=options)
        return self._observe(), {}

    def step(self, action: np.ndarray) -> StepResult:
        given = np.asarray(action)
        if given.dtype.kind not in "fiu" or not np.isfinite(given).all():
            wanted = f"give one of {self.action_space}"
            raise ValueError(f"action {action!r} is not of finite numbers: {wanted}")
        _, reward, terminated, truncated, info = self.inside.step(action)
        info = {**info, "success": self.distance <= SUCCESS_DISTANCE}
        return self._observe(), float(reward), terminated, truncated, info

    def expert(self) -> np.ndarray:
        """The action, float32 `[2]`, of an expert that knows the ball's position."""
        angles, velocity = self.angles, self.inside.data.qvel[:2]
        return controls(turns(self.ball, angles), velocity)

    def render(self) -> np.ndarray | None:
        """The frame, larger than the observation: uint8 `[240, 240, 3]`."""
        if self.render_mode is None:
            return None
        return self._large.draw(self.angles, self.ball)

    def close(self) -> None:
        self.inside.close()

    @property
    def angles(self) -> np.ndarray:
        """Angles of shoulder and elbow (rad), `[2]`."""
        return self.inside.data.qpos[:2]

    @property
    def ball(self) -> np.ndarray:
        """Position of the ball (m), `[2]`, with the shoulder at the origin."""
        return self.inside.data.qpos[2:]

    @property
    def distance(self) -> float:
        """Distance of the fingertip from the ball's centre (m)."""
        return float(np.linalg.norm(positions(self.angles)[1] - self.ball))

    def _observe(self) -> dict[str, np.ndarray]:
        angles, velocity = self.angles, self.inside.data.qvel[:2]
        proprio = np.concatenate((np.cos(angles), np.sin(angles), velocity))
        return {
            "rgb": self._painter.draw(angles, self.ball),
            "proprio": proprio.astype(np.float32),
            "language": self._sentence.copy(),
        }


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


def controls(turn: np.ndarray, velocity: np.ndarray) -> np.ndarray:
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
        away, line = self._places - start, end - start
        square = float(line @ line)
        if square:
            along = (away @ line / square).clip(0, 1)
            away = away - along[..., None] * line
        distance = np.sqrt((away * away).sum(-1)) - radius
        inside = (0.5 - distance / self.pixel).clip(0, 1)[..., None]
        picture += inside * (np.array(color) - picture)
