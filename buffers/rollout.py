"""The rollout buffer: T steps of N environments, learned from, then cleared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import torch
from tensordict import TensorDict

from yieldrl.buffers.linked import LinkedStorage
from yieldrl.buffers.minibatches import Minibatches
from yieldrl.buffers.spec import check_at_least_one, copied, transition_spec
from yieldrl.buffers.storage import Storage, add_rollout


@dataclass
class Progress:
    """State that `clear` resets, in one object, so that exceptions cannot split it."""

    num_steps: int
    row: int = 0
    passes: Minibatches | None = None
    continues: bool = True  # continues the episodes of the previous rollout
    abandoned: bool = False  # the next rollout begins new episodes

    def cleared(self) -> Progress:
        return Progress(self.num_steps, continues=not self.abandoned)

    def state_dict(self) -> dict[str, Any]:
        ends = {"continues": self.continues, "abandoned": self.abandoned}
        return {"row": self.row, "num_steps": self.num_steps, **ends}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        own, saved = self.num_steps, state["num_steps"]
        if state["passes"] is not None and own != saved:
            raise ValueError(
                f"num_steps = {own}, but the checkpoint was taken half way through"
                f" learning from a rollout with num_steps = {saved}: go on with this"
                " once, or load a checkpoint taken while collecting"
            )
        self.row, self.abandoned = state["row"], state["abandoned"]
        self.continues = state["continues"]


class RolloutBuffer:
    """A rollout `[T, N]`: filled, learned from, cleared.

    An algorithm cuts it into `Minibatches`; `begin` stores them with the data. `clear`
    makes room for the next rollout, when they are `exhausted`.

    >>> space = gym.spaces.Discrete(2)
    >>> buffer = RolloutBuffer(2, space, space, num_envs=1)
    >>> step = {"obs": [0], "next_obs": [1], "action": [0], "reward": [1.0]}
    >>> for _ in range(2):
    ...     buffer.add({**step, "terminated": [False], "truncated": [False]})
    >>> data = buffer.rollout().flatten(0, 1)
    >>> buffer.begin(Minibatches(data, num_epochs=3, num_minibatches=2, seed=0))
    >>> while not buffer.exhausted:
    ...     data = buffer.passes.minibatch()  # learn from it, then
    ...     buffer.passes.advance()

    Args:
        num_steps: `T`, steps of a rollout, at least 1.
        observation_space: Space of one observation.
        action_space: Space of one action.
        num_envs: `N`, environments.
        device: Of the tensors; MemoryError if a rollout and an epoch's copy do not fit.
        next_obs: Whether to store `next_obs`, which a critic needs: half of all images.
        linked: Whether `next_obs` is read from the next row: images are stored once.
    """

    def __init__(
        self,
        num_steps: int,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        *,
        num_envs: int,
        device: torch.device | str = "cpu",
        next_obs: bool = True,
        linked: bool = False,
    ) -> None:
        check_at_least_one(num_steps=num_steps)
        self.num_steps, self.num_envs, self.has_next_obs = num_steps, num_envs, next_obs
        self.device, self.keeps_next_obs = torch.device(device), next_obs and not linked
        spec = transition_spec(observation_space, action_space, next_obs=next_obs)
        size = {"field": "num_steps", "value": num_steps, "beside": copied(spec)}
        kind = LinkedStorage if next_obs and linked else Storage
        self._storage = kind(num_steps, num_envs, spec, self.device, **size)
        self._progress = Progress(num_steps)

    def __len__(self) -> int:
        return self._progress.row

    @property
    def full(self) -> bool:
        """Whether all T rows are written."""
        return len(self) == self.num_steps

    @property
    def passes(self) -> Minibatches | None:
        """The minibatches of this rollout; None until `begin`."""
        return self._progress.passes

    @property
    def exhausted(self) -> bool:
        """Whether all minibatches of this rollout were used."""
        return self.passes is not None and self.passes.exhausted

    @property
    def continues(self) -> bool:
        """Whether it continues earlier episodes; if not, reset sums over episodes."""
        return self._progress.continues

    def add(self, transition: Mapping[str, Any]) -> None:
        """Write a step, each entry `[N, ...]`, or the rows of a rollout `[T, N]`.

        RuntimeError if full, ValueError if an entry does not fit: it is not counted.
        """
        if add_rollout(self, transition):
            return
        now = self._progress
        if now.row == self.num_steps:
            raise RuntimeError(
                "the rollout is full: learn from it and clear() it first"
            )
        self._storage.write(now.row, transition, first=now.row == 0)
        now.row += 1

    def end_episodes(self) -> None:
        """Mark unfinished episodes as truncated: the next step begins new ones."""
        now = self._progress
        if now.row > 0:
            self._storage.truncate(now.row - 1)
        now.continues &= now.row > 0
        now.abandoned |= now.passes is not None  # in use already: mark the next rollout

    def rollout(self) -> TensorDict:
        """The rollout so far `[T, N]`, sharing the buffer's memory."""
        return self._storage.tensordict(len(self))

    def begin(self, passes: Minibatches | None) -> None:
        """Store the minibatches of this rollout until `clear`; None removes them."""
        self._progress.passes = passes

    def clear(self) -> None:
        """Make room for the next rollout; the memory stays."""
        self._progress = self._progress.cleared()

    def state_dict(self) -> dict[str, Any]:
        """The rollout and its minibatches; without data if the rollout is exhausted."""
        now = self._progress.cleared() if self.exhausted else self._progress
        return {
            **now.state_dict(),
            "storage": self._storage.state_dict(now.row),
            "passes": None if now.passes is None else now.passes.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; ValueError if it does not fit."""
        now, passes = Progress(self.num_steps), state["passes"]
        now.load_state_dict(state)
        self._progress = self._progress.cleared()
        self._storage.load_state_dict(state["storage"])
        if passes is not None:
            now.passes = Minibatches.from_state(passes, self.device)
        self._progress = now
