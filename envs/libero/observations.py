"""Convert the benchmark's observations to those of policies."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from yieldrl.envs.libero.suites import LONGEST_SENTENCE

CAMERAS = {"agentview": "agentview", "wrist": "robot0_eye_in_hand"}
"""Names of cameras, here and in the benchmark; others keep the benchmark's."""

LETTERS = "".join(map(chr, range(32, 127)))

Observations = Mapping[str, np.ndarray]


class Look:
    """Reads observations: images, proprioception and the sentence; or without cameras
    proprioception and poses of things.

    Args:
        cameras: Names of cameras, as in `CAMERAS`.
        size: Side of the images in pixels.
        mirrored: See `picture`.
        rows: Number of rows of poses.
    """

    def __init__(
        self, cameras: Sequence[str], size: int, mirrored: bool, rows: int
    ) -> None:
        self.cameras, self.mirrored, self.rows = cameras, mirrored, rows
        parts: dict[str, Any]
        parts = {"proprio": spaces.Box(-np.inf, np.inf, (8,), np.float32)}
        if cameras:
            image = spaces.Box(0, 255, (size, size, 3), np.uint8)
            parts["rgb"] = spaces.Dict(dict.fromkeys(cameras, image))
            parts["language"] = spaces.Text(LONGEST_SENTENCE, charset=LETTERS)
        else:
            parts["objects"] = spaces.Box(-np.inf, np.inf, (rows, 7), np.float32)
        self.space = spaces.Dict(parts)

    def __call__(
        self, obs: Observations, objects: Sequence[str], sentence: str
    ) -> dict[str, Any]:
        """A policy's observation, from that of the benchmark."""
        seen: dict[str, Any] = {"proprio": proprioception(obs)}
        if not self.cameras:
            return seen | {"objects": object_poses(obs, objects, self.rows)}
        pictures = {
            camera: picture(obs, CAMERAS.get(camera, camera), self.mirrored)
            for camera in self.cameras
        }
        return seen | {"rgb": pictures, "language": sentence}


def picture(obs: Observations, camera: str, mirrored: bool) -> np.ndarray:
    """A camera's image, uint8 `[S, S, 3]`, upright.

    The benchmark's images are upside down, as in OpenGL. Mirrored ones are turned by
    180 degrees, others flipped.
    """
    image = obs[f"{camera}_image"][::-1]
    return np.ascontiguousarray(image[:, ::-1] if mirrored else image)


def proprioception(obs: Observations) -> np.ndarray:
    """Position of the hand, its rotation, and both fingers, float32 `[8]`."""
    rotation = axis_angle(obs["robot0_eef_quat"])
    parts = obs["robot0_eef_pos"], rotation, obs["robot0_gripper_qpos"]
    return np.concatenate(parts).astype(np.float32)


def axis_angle(quaternion: np.ndarray) -> np.ndarray:
    """The rotation's axis times its angle (rad), `[3]`, of a quaternion (x, y, z, w).

    `2 arccos(w) (x, y, z) / sqrt(1 - w^2)`, as robosuite has it, whose angles go up to
    2 pi.
    """
    w = np.clip(quaternion[3], -1.0, 1.0)
    length = np.sqrt(1.0 - w * w)
    if np.isclose(length, 0.0):
        return np.zeros(3)
    return quaternion[:3] * (2.0 * np.arccos(w)) / length


def object_poses(obs: Observations, names: Sequence[str], rows: int) -> np.ndarray:
    """Positions and quaternions (x, y, z, w) of things, float32 `[rows, 7]`, with zeros
    after them."""
    poses = np.zeros((rows, 7), np.float32)
    for row, name in zip(poses, names, strict=False):
        row[:3], row[3:] = obs[f"{name}_pos"], obs[f"{name}_quat"]
    return poses
