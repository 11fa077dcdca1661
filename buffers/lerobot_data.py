"""Read demonstrations in LeRobot's format, version 3, from a local folder."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box

from yieldrl.buffers.robot_episodes import Recorded, Recording, import_package
from yieldrl.core import Utf8Text, spaces

INFO = "meta/info.json"
IMAGES = ("image", "video")


def recorded(folder: Path) -> Recorded:
    """The episodes of a LeRobotDataset v3, a folder with `meta/info.json`.

    `observation.state` is read as `proprio`, `observation.images.NAME` as an image of
    `rgb`, uint8 `[H, W, C]`, from a video or from the tables, any other
    `observation.NAME` as `NAME`, and the task's sentence as `language`. Rewards are
    `next.reward`, or zero. An episode is terminated if its last `next.success`
    (without one, its last `next.done`) is true, and truncated otherwise.

    Raises:
        ImportError: Without pyarrow or av.
        FileNotFoundError: If a file of the data set is missing.
        ValueError: If it is of another version.
    """
    files = _Files(folder)
    action = files.features["action"]
    return Recorded(
        folder,
        files.spaces(),
        Box(-np.inf, np.inf, tuple(action["shape"]), np.float32),
        sum(int(row["length"]) for row in files.episodes),
        lambda names: (files.recording(row, names) for row in files.episodes),
        grips="gripper" in str(action.get("names")),
    )


class _Files:
    """The files of a data set: Parquet tables, with images inside or in videos."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.info: dict[str, Any] = json.loads((folder / INFO).read_text())
        version = str(self.info.get("codebase_version", "none"))
        if not version.startswith("v3"):
            raise ValueError(
                f"{folder} is a LeRobot data set of version {version}, and v3 is read:"
                " of v2.1 LeRobot makes one, python -m"
                " lerobot.scripts.convert_dataset_v21_to_v30 --repo-id=OWNER/NAME"
            )
        self.features: dict[str, Any] = self.info["features"]
        tasks = self._table("meta/tasks.parquet").to_pydict()
        name = "task" if "task" in tasks else "__index_level_0__"
        self.tasks = dict(zip(tasks["task_index"], tasks[name], strict=True))
        episodes = self._table("meta/episodes")
        kept = [name for name in episodes.column_names if "stats/" not in name]
        rows = episodes.select(kept).to_pylist()
        self.episodes = sorted(rows, key=lambda row: row["episode_index"])
        self.steps = self._table("data")
        self.names: dict[str, str] = {}  # observation name -> feature
        for key, feature in self.features.items():
            if key.startswith("observation.") and feature["dtype"] != "string":
                name = key.removeprefix("observation.").replace("images.", "rgb.", 1)
                self.names[{"state": "proprio", "image": "rgb"}.get(name, name)] = key

    def spaces(self) -> dict[str, gym.Space[Any]]:
        """Observation name -> its space."""
        observed: dict[str, gym.Space[Any]] = {}
        for name, key in self.names.items():
            shape = tuple(self.features[key]["shape"])
            if self.features[key]["dtype"] not in IMAGES:
                observed[name] = Box(-np.inf, np.inf, shape, np.float32)
                continue
            if not spaces.channels_last(shape):
                shape = *shape[1:], shape[0]
            observed[name] = Box(0, 255, shape, np.uint8)
        if any(self.tasks.values()):
            longest = max(len(task.encode()) for task in self.tasks.values())
            observed["language"] = Utf8Text(longest)
        return observed

    def recording(self, row: Mapping[str, Any], names: set[str]) -> Recording:
        """One episode, with the observations of these names."""
        number, length = row["episode_index"], int(row["length"])
        place = np.flatnonzero(self.steps["episode_index"].to_numpy() == number)
        if len(place) != length:
            raise ValueError(
                f"{self.folder}/data has {len(place)} steps of episode {number}, and"
                f" {length} are announced: it was not fetched or written to its end"
            )
        steps = self.steps.slice(place[0], length)

        def column(key: str) -> np.ndarray:
            values = np.asarray(steps[key].to_pylist())
            return values.reshape(length, *self.features[key]["shape"])

        seen: dict[str, Any] = {}
        for name in names & self.names.keys():
            key = self.names[name]
            kind = self.features[key]["dtype"]
            if kind == "video":
                seen[name] = self._frames(row, key)
            elif kind == "image":
                seen[name] = decoded_images(steps[key].to_pylist())
            else:
                seen[name] = column(key).astype(np.float32)
        if "language" in names:
            seen["language"] = [self.tasks[i] for i in column("task_index").ravel()]
        rewarded = "next.reward" in self.features
        reward = column("next.reward").ravel() if rewarded else np.zeros(length)
        ends = [n for n in ("next.success", "next.done") if n in self.features]
        terminated = bool(ends) and bool(column(ends[0])[-1].any())
        return Recording(seen, column("action").astype(np.float32), reward, terminated)

    def _frames(self, row: Mapping[str, Any], key: str) -> np.ndarray:
        """The images of an episode from a video."""
        at = f"videos/{key}"
        numbers = {n: row[f"{at}/{n}"] for n in ("chunk_index", "file_index")}
        file = self.info["video_path"].format(video_key=key, **numbers)
        start, count = float(row[f"{at}/from_timestamp"]), int(row["length"])
        return video_frames(self.folder / file, start, count, float(self.info["fps"]))

    def _table(self, path: str) -> Any:
        """A table, or all below a folder as one."""
        parquet = import_package("pyarrow.parquet")
        return parquet.read_table(_existing(self.folder / path))


def decoded_images(files: list[Mapping[str, Any]]) -> np.ndarray:
    """Decode K files, each the `bytes` of a PNG or JPEG: `[K, H, W, C]` uint8."""
    from PIL import Image

    return np.stack([np.asarray(Image.open(io.BytesIO(f["bytes"]))) for f in files])


def video_frames(path: Path, start: float, count: int, fps: float) -> np.ndarray:
    """Decode K consecutive frames of a video, `[K, H, W, 3]` uint8.

    Args:
        path: The video; FileNotFoundError if it is missing.
        start: Time of the first frame in seconds.
        count: `K`; ValueError if a frame is not in the video.
        fps: Frames per second.
    """
    av, frames = import_package("av"), dict[int, np.ndarray]()
    with av.open(str(_existing(path))) as container:
        stream = container.streams.video[0]
        container.seek(round(start / stream.time_base), stream=stream)  # or earlier
        for frame in container.decode(stream):
            place = round((frame.time - start) * fps)
            if place >= 0:
                frames[place] = frame.to_ndarray(format="rgb24")
            if place >= count - 1:
                break
    if missing := [place for place in range(count) if place not in frames]:
        raise ValueError(
            f"{path} has no picture {start + missing[0] / fps:.3f} s after its"
            f" beginning, and {len(missing)} of {count} in a row are missing: it is not"
            f" the video that the tables describe, or not of {fps:g} per second"
        )
    return np.stack([frames[place] for place in range(count)])


def _existing(file: Path) -> Path:
    if not file.exists():
        raise FileNotFoundError(
            f"{file} is not there: the data set was not fetched whole"
        )
    return file
