"""Read data sets of demonstrations, in all supported formats."""

import itertools
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
            episode, or if a gripper opens at 1 of [0, 1], and the environment's at -1.
        observation_space: Space of one observation, equal to the data set's; or
            ValueError. For robots it may lack entries, and rename cameras.
        action_space: Space of one action, also equal; by default the data set's.
        skip_no_ops: Leave out steps in which a robot does nothing, as OpenVLA does: all
            numbers of the action but the last, the gripper's, are near zero, and the
            gripper's is unchanged.
        options: Arguments of `Demonstrations`: `chunk_length`, `gamma`, ...
    """
    data = _open(source, observation_space, action_space)
    both = data.observation_space, data.action_space
    result = Demonstrations(max(1, data.most_steps), *both, num_envs=1, **options)
    for number in itertools.count():
        try:
            episode = next(data.episodes, None)
        except (IndexError, RuntimeError, ValueError) as reason:  # of uneven columns
            raise ValueError(f"{source}, episode {number}: {reason}") from reason
        if episode is None:
            break
        steps = without_no_ops(episode) if skip_no_ops else episode
        result.extend(steps.unsqueeze(1))
    if len(result) == 0:
        raise ValueError(f"{source}: the data set has no episode, there is no example")
    result.num_steps = len(result)  # it is full
    if data.grips:
        _check_gripper(source, result)
    return result


def _open(source: str | Path, observed: Any, acted: Any) -> DataSet:
    path = Path(source)
    if (path / lerobot_data.INFO).is_file():
        return lerobot_data.recorded(path).chosen(observed, acted)
    files = libero_data.files_of(path)
    if files and not minari_data.is_folder(path):
        return libero_data.recorded(files).chosen(observed, acted)
    return minari_data.open_dataset(source, observed, acted)


def _check_gripper(source: Any, demonstrations: Demonstrations) -> None:
    actions: Any = demonstrations.action_space
    low = float(actions.low[-1])
    lowest = float(demonstrations.rollout()["action"][..., -1].min())
    if -float("inf") < low < 0 <= lowest:
        raise ValueError(
            f"{source}: the gripper's numbers are {lowest:g} and more, as OpenVLA's"
            " data sets have them, and the environment's opens at -1: write 1 - 2 x in"
            " place of the last one where 1 opens"
        )
