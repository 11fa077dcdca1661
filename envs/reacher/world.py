"""Gymnasium's Reacher-v5 with images and an instruction."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import DependencyNotInstalled

from yieldrl.envs.arrays import ResetResult, StepResult
from yieldrl.envs.reacher import arm
from yieldrl.foundations.text import Utf8Text

INSTRUCTION = "touch the red ball"
SUCCESS_DISTANCE = 0.02  # metres, the radius of the ball in the image
LARGE = 240  # pixels of rendered frames


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
        if pixels < 16:
            raise ValueError(
                f"pixels = {pixels}: must be at least 16, or the ball would be less"
                " than a pixel wide"
            )
        if not instruction:
            raise ValueError("instruction = '': say what to do")
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode = {render_mode!r}: None or 'rgb_array'")
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
        self._painter, self._large = arm.Painter(pixels), arm.Painter(LARGE)

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
        return arm.action(arm.turns(self.ball, angles), velocity)

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
        return float(np.linalg.norm(arm.positions(self.angles)[1] - self.ball))

    def _observe(self) -> dict[str, np.ndarray]:
        angles, velocity = self.angles, self.inside.data.qvel[:2]
        proprio = np.concatenate((np.cos(angles), np.sin(angles), velocity))
        return {
            "rgb": self._painter.draw(angles, self.ball),
            "proprio": proprio.astype(np.float32),
            "language": self._sentence.copy(),
        }
