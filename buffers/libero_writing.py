"""Write demonstrations of LIBERO as HDF5 files, which other tools read."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from tensordict import TensorDict

from yieldrl.buffers.demonstrations import Demonstrations
from yieldrl.buffers.libero_data import CAMERAS, import_h5py, upright
from yieldrl.core import spaces
from yieldrl.core.text import decode


def write_file(file: str | Path, demonstrations: Demonstrations) -> Path:
    """Write demonstrations of a task of `yieldrl/LIBERO-v1`, atomically.

    `data/demo_k` is an episode: `actions [K, 7]`, `rewards`, `dones`, and in `obs` the
    observation before each action, as in files of OpenVLA's script. Images in files are
    upside down; the demonstrations' are assumed to be `mirrored`, the environment's
    default. Joints and simulator states are left out, because they are not
    observed. A truncated episode has one transition less when it is read, because the
    format has no place for its last observation.

    Args:
        file: The new file, which is returned; FileExistsError if it is there.
        demonstrations: Of one task, with an image of `agentview` or `wrist`, `proprio`
            and `language`.

    Raises:
        ImportError: Without h5py.
        ValueError: If they have other observations or actions, or several sentences.
    """
    h5py, file = import_h5py(), Path(file)
    if file.exists():
        raise FileExistsError(f"{file} is there already: give another name")
    cameras = _cameras(demonstrations)
    episodes = list(demonstrations.episodes())
    sentence = _sentence(file, episodes)
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, new = tempfile.mkstemp(dir=file.parent, prefix=".new-", suffix=".hdf5")
    os.close(handle)
    try:
        with h5py.File(new, "w") as opened:
            data = opened.create_group("data")
            data.attrs["problem_info"] = json.dumps({"language_instruction": sentence})
            data.attrs["num_demos"] = len(episodes)
            data.attrs["total"] = sum(map(len, episodes))
            for number, episode in enumerate(episodes):
                for name, values in _entries(episode, cameras).items():
                    data[f"demo_{number}/{name}"] = values
        return Path(new).rename(file)
    finally:
        Path(new).unlink(missing_ok=True)


def _cameras(demonstrations: Demonstrations) -> list[str]:
    """The cameras of LIBERO that have images; ValueError without any."""
    observed, acted = demonstrations.observation_space, demonstrations.action_space
    leaves = {".".join(path): leaf for path, leaf in spaces.leaves(observed)}
    cameras = [name for name in CAMERAS if name in leaves]
    proprio = spaces.shape_of(leaves["proprio"]) if "proprio" in leaves else ()
    fits = proprio == (8,) and acted.shape == (7,) and "language" in leaves
    if not (fits and cameras):
        raise ValueError(
            f"files of LIBERO hold pictures, proprio [8], language and actions [7], and"
            f" these demonstrations {observed} and {acted}: record them in"
            " yieldrl/LIBERO-v1 with cameras, or name a folder for Minari's format"
        )
    return cameras


def _sentence(file: Path, episodes: list[TensorDict]) -> str:
    """The task's sentence; ValueError if there are several."""
    told = {s for one in episodes for s in decode(one["obs", "language"].unique(dim=0))}
    if len(told) != 1:
        raise ValueError(
            f"{file}: LIBERO has a file for each task, and these demonstrations are of"
            f" {sorted(told)}: record one task, or name a folder for Minari's format"
        )
    return told.pop()


def _entries(episode: TensorDict, cameras: list[str]) -> dict[str, Any]:
    """Name in the file -> data of an episode `[K]`."""
    obs, ended = episode["obs"], episode["terminated"] | episode["truncated"]
    proprio = obs["proprio"].numpy(force=True)
    entries = {
        "actions": episode["action"].numpy(force=True).astype(np.float64),
        "rewards": episode["reward"].numpy(force=True).astype(np.uint8),
        "dones": ended.numpy(force=True).astype(np.uint8),
        "obs/ee_pos": proprio[:, :3],
        "obs/ee_ori": proprio[:, 3:6],
        "obs/ee_states": proprio[:, :6],
        "obs/gripper_states": proprio[:, 6:],
    }
    for name in cameras:
        pictures = obs[tuple(name.split("."))].numpy(force=True)
        entries[f"obs/{CAMERAS[name]}"] = upright(pictures)
    return entries
