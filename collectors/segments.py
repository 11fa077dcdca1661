"""Segments: steps that are collected elsewhere, for a learner to take one by one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from yieldrl.core.trees import map_tensors
from yieldrl.envs.arrays import tree_map


@dataclass
class Segment:
    """Consecutive steps of all environments, by one policy."""

    rows: dict[str, Any]  # entries of its transitions, [T, N, ...]
    logs: list[dict[str, Any]]  # of ended episodes, by row
    breaks: list[int]  # rows before which all episodes were cut
    version: int  # the oldest `policy_version` that acted
    seconds: float = 0.0  # that collecting took
    inference: dict[str, float] = field(default_factory=dict)  # metrics of its actors

    @classmethod
    def saved(cls, state: Mapping[str, Any]) -> "Segment":
        """A segment from a checkpoint, which holds tensors in place of arrays."""
        return cls(**map_tensors(Tensor.numpy, dict(state)))


class SegmentWriter:
    """The buffer of a `SyncCollector` whose steps become a segment.

    Args:
        copy: Copies an array or a tensor, which environments may write into again.
    """

    def __init__(self, copy: Callable[[Any], Any]) -> None:
        self._copy = copy
        self.rows: list[Any] = []
        self.breaks: list[int] = []

    def add(self, transition: Mapping[str, Any]) -> None:
        """Keep a copy of one step, entries `[N, ...]`."""
        self.rows.append(tree_map(self._copy, transition))

    def end_episodes(self) -> None:
        """Note that the next step continues no episode."""
        self.breaks.append(len(self.rows))

    def stacked(self) -> dict[str, Any]:
        """The entries of all steps, `[T, N, ...]`."""
        return tree_map(_stacked, *self.rows)

    def clear(self) -> None:
        """Begin another segment."""
        self.rows, self.breaks = [], []


class VersionedAgent:
    """An agent that adds its `policy_version` to every transition."""

    def __init__(self, agent: Any, num_envs: int) -> None:
        self.agent, self.num_envs = agent, num_envs
        self.has_memory, self.count_steps = agent.has_memory, agent.count_steps
        self.set_version(agent.counters.policy_version)

    @property
    def sample_step(self) -> int:
        return self.agent.counters.sample_step

    def set_version(self, version: int) -> None:
        """Set the version of the weights that act."""
        self.version = self.agent.counters.policy_version = version
        self._versions: Any = np.full(self.num_envs, version)
        if self.agent.device.type != "cpu":
            self._versions = torch.as_tensor(self._versions).to(self.agent.device)

    def sample(self, obs: Any) -> tuple[Any, dict[str, Any]]:
        """The agent's action, and extras with its `policy_version [N]`."""
        action, extras = self.agent.sample(obs)
        return action, {"policy_version": self._versions, **extras}

    def begin_episode(self, where: Any = None, *, exploring: bool = False) -> None:
        self.agent.begin_episode(where, exploring=exploring)


def _stacked(*values: Any) -> Any:
    """Arrays as an array, and tensors, or both, as a tensor, with a new first axis."""
    tensors = [x for x in values if isinstance(x, Tensor)]
    if not tensors:
        return np.stack(values)
    return torch.stack([torch.as_tensor(x).to(tensors[0].device) for x in values])
