"""Read data sets of demonstrations, in all supported formats."""

from pathlib import Path
from typing import Any

import gymnasium as gym

from yieldrl.buffers import lerobot_data, libero_data, minari_data
from yieldrl.buffers.demonstrations import Demonstrations
from yieldrl.buffers.robot_episodes import DataSet, without_no_ops


def read_dataset(
    source: str | Path,
    observation_space: gym.Space[Any] | None = None,
    action_space: gym.Space[Any] | None = None,
    *,
    skip_no_ops: bool = False,
    **options: Any,
) -> Demonstrations:
    """Read all episodes of a data set, one after another: `[T, 1]`.

    Args:
        source: A folder in Minari's format or in LeRobot's (version 3), an HDF5 file of
            LIBERO or a folder of them, or the id of a data set that Minari holds on
            this machine; FileNotFoundError if there is none, ValueError if it has no
            episode.
        observation_space: Space of one observation, equal to the data set's; or
            ValueError. For robots it may lack entries, and rename cameras.
        action_space: Space of one action, also equal; by default the data set's.
        skip_no_ops: Leave out steps in which a robot does nothing, as OpenVLA does: all
            numbers of the action but the last, the gripper's, are near zero, and the
            gripper's is unchanged.
        options: Arguments of `Demonstrations`: `chunk_length`, `gamma`, ...
    """
    data = _open(source, observation_space, action_space)
    episodes, count = data.episodes, data.num_steps
    if skip_no_ops:
        episodes = [without_no_ops(episode) for episode in episodes]
        count = sum(map(len, episodes))
    if count == 0:
        raise ValueError(f"{source}: the data set has no episode, there is no example")
    both = data.observation_space, data.action_space
    result = Demonstrations(count, *both, num_envs=1, **options)
    for episode in episodes:
        result.extend(episode.unsqueeze(1))
    return result


def _open(source: str | Path, observed: Any, acted: Any) -> DataSet:
    path = Path(source)
    if (path / lerobot_data.INFO).is_file():
        return lerobot_data.open_folder(path, observed, acted)
    files = libero_data.files_of(path)
    if files and not minari_data.is_folder(path):
        return libero_data.open_files(files, observed, acted)
    return minari_data.open_dataset(source, observed, acted)
