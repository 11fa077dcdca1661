"""The episode buffer: complete episodes of N environments, used once."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium as gym
import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.buffers.spec import transition_spec
from yieldrl.buffers.storage import Storage, add_rollout


class _Progress(NamedTuple):
    """Counters, replaced as one object: an interrupted step is not counted."""

    row: int
    ended: Tensor  # [N], finished episodes per environment
    full: bool


class EpisodeBuffer:
    """Steps `[T, N]`, until every environment has played its number of episodes.

    The number is fixed in advance, because taking the first episodes that end would
    favour short ones. An environment that has finished its episodes goes on, uncounted,
    until all have finished; then call `clear`, and begin new episodes everywhere. The
    memory doubles when episodes are longer than it has room for. On a GPU every step
    synchronizes.

    Args:
        num_episodes: Episodes to collect, at least `num_envs`.
        observation_space: Space of one observation.
        action_space: Space of one action.
        num_envs: `N`, parallel environments.
        device: Where the tensors live; MemoryError if less is free than they need.
    """

    def __init__(
        self,
        num_episodes: int,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        *,
        num_envs: int,
        device: torch.device | str = "cpu",
    ) -> None:
        if num_episodes < num_envs:
            raise ValueError(
                f"num_episodes = {num_episodes} leaves nothing to play for some of"
                f" {num_envs} environments: choose at least as many episodes"
            )
        self.device = torch.device(device)
        spec = transition_spec(observation_space, action_space, next_obs=False)
        self._names = {path[0] for path in spec}
        spec["valid",] = ((), torch.bool)
        size = {"field": "num_envs", "value": num_envs}
        self._storage = Storage(512, num_envs, spec, self.device, **size)
        place = torch.arange(num_envs, device=self.device)
        self._share = num_episodes // num_envs + (place < num_episodes % num_envs)
        self.clear()

    def __len__(self) -> int:
        return self._now.row

    @property
    def full(self) -> bool:
        """Whether every environment has played its number of episodes."""
        return self._now.full

    def add(self, transition: Mapping[str, Any]) -> None:
        """Write a step, each entry `[N, ...]`, or the rows of a rollout `[T, N]`.

        RuntimeError if full, ValueError if an entry does not fit: it is not counted.
        """
        if add_rollout(self, transition):
            return
        row, ended, full = self._now
        if full:
            raise RuntimeError("the episodes are whole: learn from them and clear()")
        if row == self._storage.rows:
            self._storage = self._storage.grown(2 * row)
        counts = ended < self._share
        if "valid" in transition:  # NEXT_STEP autoreset: False at reset-only steps
            counts &= torch.as_tensor(transition["valid"], device=self.device)
        entries = {name: transition[name] for name in self._names & transition.keys()}
        self._storage.write(row, {**entries, "valid": counts}, first=row == 0)
        ends = self._storage["terminated"][row] | self._storage["truncated"][row]
        self._now = self._progress(row + 1, ended + (ends & counts))

    def end_episodes(self) -> None:
        """Drop the unfinished episodes: they are not counted."""
        if len(self) == 0:
            return
        steps = self.episodes()
        ended = steps["terminated"] | steps["truncated"]
        steps["valid"] &= ended.flip(0).cumsum(0).flip(0) > 0  # an end follows
        self._storage.truncate(len(self) - 1)  # returns exclude later rewards

    def episodes(self) -> TensorDict:
        """The steps so far `[T, N]`, in the buffer's memory; `valid` ones count."""
        return self._storage.tensordict(len(self))

    def clear(self) -> None:
        """Make room for the next episodes; the memory stays."""
        self._now = _Progress(0, torch.zeros_like(self._share), full=False)

    def state_dict(self) -> dict[str, Any]:
        """The steps so far, and the number of ended episodes per environment."""
        storage, (row, ended, _) = self._storage.state_dict(len(self)), self._now
        return {"storage": storage, "row": row, "ended": ended}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; ValueError if it does not fit."""
        row = state["row"]
        self.clear()
        if row > self._storage.rows:
            self._storage = self._storage.grown(row)
        self._storage.load_state_dict(state["storage"])
        self._now = self._progress(row, state["ended"].to(self.device))

    def _progress(self, row: int, ended: Tensor) -> _Progress:
        return _Progress(row, ended, full=bool((ended >= self._share).all()))
