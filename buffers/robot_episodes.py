"""Convert recorded episodes of robots to transitions with chosen observations."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from gymnasium.spaces import Box, Dict
from tensordict import TensorDict

from yieldrl.core import Utf8Text, spaces, text
from yieldrl.core.spaces import Path
from yieldrl.core.trees import nest

NO_OP = 1e-4
"""Norm of an action without the gripper's number, below which it is a no-op."""

_OF_CAMERAS = {
    "image": ("agentview", "agentview_rgb", "pixels", "rgb"),
    "wrist": ("eye_in_hand_rgb", "image2", "wrist_image"),
}
_SAME = {other: name for name, others in _OF_CAMERAS.items() for other in others}

Entries = Mapping[Path, str]
"""Path in a space -> name in a recording."""


class DataSet(NamedTuple):
    """The spaces and episodes of a data set; iterate over episodes once."""

    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]
    most_steps: int  # of all episodes; some may have fewer transitions than steps
    episodes: Iterator[TensorDict]  # transitions `[K]` each, up to the episode's end
    grips: bool = False  # whether an action's last number is a gripper's


class Recording(NamedTuple):
    """One recorded episode: K actions, the observations before each of them, and in
    some data sets the observation after the last."""

    obs: Mapping[str, Any]  # name -> array `[K, ...]` or `[K + 1, ...]`, or texts
    action: np.ndarray  # `[K, A]`
    reward: np.ndarray  # `[K]`
    terminated: bool  # whether the last action terminated it

    def transitions(self, space: gym.Space[Any], entries: Entries) -> TensorDict:
        """K transitions; K - 1 for a truncated episode with K observations, because the
        last one is needed as `next_obs`. If it terminated, the last `next_obs` repeats
        the last observation: its value is not used."""
        cpu, count = torch.device("cpu"), len(self.action)
        seen = nest((path, self.obs[name]) for path, name in entries.items())
        seen = spaces.to_tensor(text.encoded(space, seen), cpu, exact=True)
        length = len(self.obs[next(iter(entries.values()))])
        obs = TensorDict({"obs": seen}, [length])["obs"]
        if length == count and not self.terminated:
            count -= 1
        ahead = torch.arange(1, count + 1).clamp(max=length - 1)
        ends = torch.arange(1, count + 1) == count
        steps = {
            "obs": obs[:count],
            "next_obs": obs[ahead],
            "action": torch.as_tensor(self.action[:count]).float(),
            "reward": torch.as_tensor(self.reward[:count]).float(),
            "terminated": ends & self.terminated,
            "truncated": ends & (not self.terminated),
        }
        return TensorDict(steps, [count])


class Recorded(NamedTuple):
    """A data set of a robot, as it is in its files."""

    source: Any
    spaces: Mapping[str, gym.Space[Any]]  # of observations, by name
    action_space: Box
    num_steps: int
    read: Callable[[set[str]], Iterator[Recording]]  # with observations of these names
    grips: bool  # whether an action's last number is a gripper's

    def chosen(self, observed: gym.Space[Any] | None, acted: Any) -> DataSet:
        """The data set with the observations and actions of an environment.

        Raises:
            ValueError: If an observation is missing, or of another shape, or if actions
                are of another shape.
        """
        space, entries = entries_of(self.source, self.spaces, observed)
        action = self.action_space if acted is None else acted
        if not isinstance(action, Box) or action.shape != self.action_space.shape:
            raise ValueError(
                f"{self.source}: the data set's actions are"
                f" {self.action_space.shape[0]} numbers, those of the environment are"
                f" of {action}: take the environment that it was recorded in"
            )
        recordings = self.read(set(entries.values()))
        episodes = (recording.transitions(space, entries) for recording in recordings)
        return DataSet(space, action, self.num_steps, episodes, self.grips)


def entries_of(
    source: Any, recorded: Mapping[str, gym.Space[Any]], wanted: gym.Space[Any] | None
) -> tuple[gym.Space[Any], Entries]:
    """The observation space, and the recorded entry for each of its leaves.

    An observation is matched by its kind (image, text, numbers), then, among several,
    by its name; cameras have aliases. Dots in names are levels of Dicts. Recorded
    entries that are not in `wanted` are left out; without `wanted` all are kept.

    Raises:
        ValueError: If a wanted entry is missing, or of another shape.
    """
    if wanted is None:
        entries = {tuple(name.split(".")): name for name in recorded}
        tree = nest((path, recorded[name]) for path, name in entries.items())
        return _dict(tree), entries
    leaves, entries = list(spaces.leaves(wanted)), dict[Path, str]()
    for path, leaf in leaves:
        alike = [name for name in recorded if _kind(recorded[name]) == _kind(leaf)]
        named = [name for name in alike if path and _same(name) == _same(path[-1])]
        only = sum(_kind(other) == _kind(leaf) for _, other in leaves) == 1
        chosen = named or (alike if only else [])
        if len(chosen) != 1 or not _fits(recorded[chosen[0]], leaf):
            raise ValueError(
                f"{source}: the environment's observation {'.'.join(path)!r} is of"
                f" {leaf}, the data set has {dict(recorded)}: take the environment,"
                " cameras and image size that it was recorded with"
            )
        entries[path] = chosen[0]
    return wanted, entries


def without_no_ops(episode: TensorDict) -> TensorDict:
    """Transitions `[K]` without those in which a robot does nothing.

    It does nothing if all numbers of its action except the last, the gripper's, are
    near zero, and the gripper's equals that of the last kept step. The kept step before
    gets `next_obs`, the summed rewards and the end of the steps left out; those before
    the first kept step are lost. From Kim et al. 2024, "OpenVLA",
    arXiv:2406.09246, whose data sets leave them out so that clones do not stand still.
    """
    action = episode["action"].numpy()
    moves = np.linalg.norm(action[:, :-1], axis=1) >= NO_OP
    kept: list[int] = []
    for t in range(len(action)):
        if moves[t] or (kept and action[t, -1] != action[kept[-1], -1]):
            kept.append(t)
    if not kept:
        return episode[:0]
    last = torch.tensor([*kept[1:], len(action)]) - 1
    result = episode[torch.tensor(kept)]
    result["next_obs"] = episode["next_obs"][last]
    for name in ("reward", "terminated", "truncated"):
        total = episode[name][kept[0] :].float().cumsum(0)[last - kept[0]]
        total = total.diff(prepend=total.new_zeros(1))
        result[name] = total.to(episode[name].dtype)
    return result


def import_package(name: str) -> Any:
    """A package for data sets; ImportError with the install command."""
    try:
        return import_module(name)
    except ImportError as reason:
        raise ImportError(
            f"data sets of demonstrations take a package that is missing ({reason}):"
            " pip install 'yieldrl[demonstrations]'"
        ) from None


def _dict(tree: Any) -> Any:
    if isinstance(tree, gym.Space):
        return tree
    return Dict({name: _dict(child) for name, child in tree.items()})


def _same(name: str) -> str:
    """The canonical name of a camera, from the last part of any of its names."""
    last = name.split(".")[-1]
    return _SAME.get(last, last)


def _kind(space: gym.Space[Any]) -> str:
    if isinstance(space, Utf8Text):
        return "sentence"
    return "picture" if spaces.is_image(space) else "numbers"


def _fits(recorded: gym.Space[Any], wanted: gym.Space[Any]) -> bool:
    """Whether a recorded entry has the wanted shape and kind of numbers."""
    if isinstance(wanted, Utf8Text):
        return True
    same = recorded.shape == wanted.shape and isinstance(wanted, Box)
    return same and spaces.tensor_dtype(recorded) == spaces.tensor_dtype(wanted)
