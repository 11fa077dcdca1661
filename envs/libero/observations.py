"""Convert the benchmark's observations to those of policies."""

from collections.abc import Mapping, Sequence

import numpy as np

CAMERAS = {"agentview": "agentview", "wrist": "robot0_eye_in_hand"}
"""Names of cameras, here and in the benchmark; others keep the benchmark's."""

Observations = Mapping[str, np.ndarray]


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
