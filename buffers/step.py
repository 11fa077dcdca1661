"""The step buffer: the latest step of all environments, used immediately."""

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import torch
from tensordict import TensorDict

from yieldrl.buffers.spec import transition_spec
from yieldrl.buffers.storage import Storage


class StepBuffer:
    """One step of N environments; the next one overwrites it.

    Steps that only reset an environment (NEXT_STEP autoreset) are no transitions: if a
    step only resets all environments, the buffer stays empty.

    Args:
        observation_space: Space of one observation.
        action_space: Space of one action.
        num_envs: `N`, environments.
        device: Where the tensors live.
    """

    def __init__(
        self,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        *,
        num_envs: int,
        device: torch.device | str = "cpu",
    ) -> None:
        self.num_envs = num_envs
        spec = transition_spec(observation_space, action_space)
        size = {"field": "num_envs", "value": num_envs}
        self._storage = Storage(1, num_envs, spec, torch.device(device), **size)
        self.full = False
        self._view()

    def __len__(self) -> int:
        return int(self.full)

    def add(self, transition: Mapping[str, Any]) -> None:
        """Write one step of all environments, each entry `[N, ...]`.

        RuntimeError if it was not cleared, ValueError if an entry does not fit.
        """
        if self.full:
            raise RuntimeError("the step is not learned from: learn and clear() first")
        self._storage.write(0, transition, first=True)
        if self._storage.entries is not self._entries:  # the extras changed
            self._view()
        self.full = "valid" not in transition or bool(transition["valid"].any())

    def end_episodes(self) -> None:
        """Mark the episodes of the step as truncated, unless it was cleared."""
        if self.full:
            self._storage.truncate(0)

    def transitions(self) -> TensorDict:
        """The transitions `[N]`, in the buffer's memory; RuntimeError if empty."""
        if not self.full:
            raise RuntimeError("the step buffer is empty: collect first")
        return self._transitions

    def clear(self) -> None:
        """Make room for the next step; the memory stays."""
        self.full = False

    def state_dict(self) -> dict[str, Any]:
        """The step, and whether it was cleared."""
        return {"storage": self._storage.state_dict(), "full": self.full}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; ValueError if it does not fit."""
        self.full = False
        self._storage.load_state_dict(state["storage"])
        self._view()
        self.full = state["full"]

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy, with views of its own memory."""
        vars(self).update(state)
        self._view()

    def _view(self) -> None:
        # Made once: constructing a TensorDict takes longer than learning from it.
        self._transitions = self._storage.tensordict()[0]
        self._entries = self._storage.entries
