"""The episode buffer: complete episodes of N environments, used once."""

from collections.abc import Mapping
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.buffers.rollout import StepRows
from yieldrl.buffers.storage import add_rollout

ENTRIES = "obs", "action", "reward", "terminated", "truncated"


class EpisodeBuffer(StepRows):
    """Steps `[T, N]`, until every environment has played its number of episodes.

    The number is fixed in advance, because taking the first episodes that end would
    favour short ones. An environment that has finished its episodes goes on, uncounted,
    until all have finished; then call `clear`, and begin new episodes everywhere. The
    memory doubles when episodes are longer than it has room for. Whether all have, a
    GPU is asked every 16 steps, because to ask is to wait for it.

    Args:
        num_episodes: Episodes to collect, at least `num_envs`.
        args: `observation_space` and `action_space`, of one environment.
        num_envs: `N`, parallel environments.
        kwargs: `device`, where the tensors live, with MemoryError if less is free than
            they need; or what `args` lacks.
    """

    def __init__(
        self, num_episodes: int, *args: Any, num_envs: int, **kwargs: Any
    ) -> None:
        if num_episodes < num_envs:
            raise ValueError(
                f"num_episodes = {num_episodes} leaves nothing to play for some of"
                f" {num_envs} environments: choose at least as many episodes"
            )
        size = {"num_envs": num_envs, "field": "num_envs", "value": num_envs}
        super().__init__(512, *args, next_obs=False, **size, **kwargs)
        place = torch.arange(num_envs, device=self.device)
        self._share = num_episodes // num_envs + (place < num_episodes % num_envs)

    @property
    def full(self) -> bool:
        """Whether every environment has played its number of episodes."""
        looks = self.device.type == "cpu" or self._row % 16 == 0
        return looks and bool((self._ended() >= self._share).all())

    def add(self, transition: Mapping[str, Any]) -> None:
        """Write a step, each entry `[N, ...]`, or the rows of a rollout `[T, N]`.

        RuntimeError if full, ValueError if an entry does not fit: it is not counted.
        """
        if add_rollout(self, transition):
            return
        ended = self._ended()
        if self.full:
            raise RuntimeError("the episodes are whole: learn from them and clear()")
        if self._row == self._storage.rows:
            self._storage = self._storage.grown(2 * self._row)
        counts = ended < self._share
        if "valid" in transition:  # NEXT_STEP autoreset: False at reset-only steps
            counts &= torch.as_tensor(transition["valid"], device=self.device)
        entries = {name: transition[name] for name in ENTRIES if name in transition}
        row, entries["valid"], entries["ended"] = self._row, counts, ended
        self._storage.write(row, entries, first=row == 0)
        ends = self._storage["terminated"][row] | self._storage["truncated"][row]
        self._storage["ended"][row] += ends & counts
        self._row = row + 1

    def end_episodes(self) -> None:
        """Drop the unfinished episodes: they are not counted."""
        if self._row == 0:
            return
        steps = self.episodes()
        ended = steps["terminated"] | steps["truncated"]
        steps["valid"] &= ended.flip(0).cumsum(0).flip(0) > 0  # an end follows
        super().end_episodes()  # returns exclude later rewards

    def episodes(self) -> TensorDict:
        """The steps so far `[T, N]`, in the buffer's memory; `valid` ones count."""
        return self.rollout().exclude("ended")

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; ValueError if it does not fit."""
        if state["row"] > self._storage.rows:
            self._storage = self._storage.grown(state["row"])
        super().load_state_dict(state)

    def _ended(self) -> Tensor:
        """The number of finished episodes of each environment, `[N]`."""
        if self._row == 0:
            return torch.zeros_like(self._share)
        return self._storage["ended"][self._row - 1]
