"""Read demonstrations of LIBERO from the HDF5 files of its authors."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box

from yieldrl.buffers.robot_episodes import Recorded, Recording, import_package
from yieldrl.core import Utf8Text

CAMERAS = {"rgb.agentview": "agentview_rgb", "rgb.wrist": "eye_in_hand_rgb"}
"""Observation name here -> name in the files, where images are upside down."""

SUFFIXES = (".hdf5", ".h5")
_PROPRIO = ("ee_pos", "ee_ori", "gripper_states")


def files_of(source: Path) -> list[Path]:
    """The HDF5 file itself, or those of a folder, sorted by name."""
    if source.suffix in SUFFIXES:
        return [source] if source.is_file() else []
    return sorted(source.glob("*.hdf5")) if source.is_dir() else []


def recorded(files: list[Path]) -> Recorded:
    """The demonstrations of tasks, one file each, in the form of `yieldrl/LIBERO-v1`.

    In a file, `data/demo_k` is an episode of `actions [K, 7]`, `rewards`, `dones` and
    `obs`. Observations are a Dict of `rgb`, of the cameras `agentview` and `wrist`,
    which are upside down in the files; `proprio [8]`, the hand's position (3), its
    rotation as axis-angle (3) and the two fingers (2); and `language`. Actions are
    those of the environment: the gripper opens at -1 and closes at 1.

    LIBERO's own files (their demonstrations have `num_samples`) store observations
    after each action; there the last K - 1 actions get the observations before them.
    Files that were recorded again, such as OpenVLA's, store those before each action.

    Raises:
        ImportError: Without h5py.
        ValueError: If a file is of another layout.
    """
    h5py = import_package("h5py")
    count, sentences, seen = 0, [], dict[str, gym.Space[Any]]()
    for file in files:
        with h5py.File(file) as opened:
            demos = _demos(file, opened)
            count += sum(len(demo["actions"]) for demo in demos)
            sentences.append(_sentence(file, opened["data"]))
            for name, key in CAMERAS.items():
                if key in demos[0]["obs"]:
                    shape = demos[0]["obs"][key].shape[1:]
                    seen[name] = Box(0, 255, shape, np.uint8)
    seen["proprio"] = Box(-np.inf, np.inf, (8,), np.float32)
    longest = max(len(sentence.encode()) for sentence in sentences)
    seen["language"] = Utf8Text(longest)

    def read(names: set[str]) -> Iterator[Recording]:
        for file, sentence in zip(files, sentences, strict=True):
            with h5py.File(file) as opened:
                for demo in _demos(file, opened):
                    yield _recording(demo, sentence, names)

    where = files[0] if len(files) == 1 else files[0].parent
    return Recorded(where, seen, Box(-1, 1, (7,), np.float32), count, read, grips=True)


def _recording(demo: Any, sentence: str, names: set[str]) -> Recording:
    obs = demo["obs"]
    seen: dict[str, Any] = {
        name: np.ascontiguousarray(obs[key][()][:, ::-1, ::-1])
        for name, key in CAMERAS.items()
        if name in names
    }
    if "proprio" in names:
        parts = [obs[name][()] for name in _PROPRIO]
        seen["proprio"] = np.concatenate(parts, axis=1).astype(np.float32)
    if "language" in names:
        seen["language"] = [sentence] * len(demo["actions"])
    late = int("num_samples" in demo.attrs)  # observations are those after actions
    action, reward = (demo[name][()][late:] for name in ("actions", "rewards"))
    done = bool(demo["dones"][-1]) and bool(demo["rewards"][-1] > 0)
    return Recording(seen, action, reward, terminated=done)


def _demos(file: Path, opened: Any) -> list[Any]:
    """The episodes of a file in order; ValueError if there is none."""
    data = opened.get("data", {})
    names = [name for name in data if name.startswith("demo_")]
    if not names:
        raise ValueError(f"{file} holds no data/demo_0: it is no data set of LIBERO")
    return [data[name] for name in sorted(names, key=lambda n: int(n[5:]))]


def _sentence(file: Path, data: Any) -> str:
    """The task's sentence: from an attribute, or else from the file's name."""
    told = json.loads(data.attrs.get("problem_info", "{}")).get("language_instruction")
    if told:
        return "".join(told)
    words = file.stem.removesuffix("_demo").split("_")
    scenes = [i for i, word in enumerate(words) if word.startswith("SCENE")]
    return " ".join(words[scenes[-1] + 1 if scenes else 0 :])
