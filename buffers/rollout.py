"""The rollout buffer: T steps of N environments, learned from, then cleared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import torch
from tensordict import TensorDict

from yieldrl.buffers.minibatches import Minibatches
from yieldrl.buffers.spec import entry_bytes, transition_spec
from yieldrl.buffers.storage import Storage, add_rows, is_rollout
from yieldrl.foundations.foreign_names import CalledHere


@dataclass
class Progress:
    """All that `clear` forgets, in one object: an exception leaves no half of it."""

    row: int = 0
    passes: Minibatches | None = None
    continues: bool = True  # episodes go on from the rollout before
    abandoned: bool = False  # no episode will go on in the next one


class RolloutBuffer:
    """A rollout `[T, N]`: filled, learned from, cleared.

    `add` fills row after row until `full`. An algorithm cuts the rollout into
    `Minibatches`; `begin` keeps them beside the data. `clear` makes room for the next
    rollout, when they are `exhausted`.

    >>> from yieldrl.buffers import Minibatches, transitions
    >>> space = gym.spaces.Discrete(2)
    >>> buffer = RolloutBuffer(2, space, space, num_envs=1)
    >>> step = {"obs": [0], "next_obs": [1], "action": [0], "reward": [1.0]}
    >>> for _ in range(2):
    ...     buffer.add({**step, "terminated": [False], "truncated": [False]})
    >>> data = transitions(buffer.rollout())
    >>> minibatches = Minibatches(data, num_epochs=3, num_minibatches=2, seed=0)
    >>> buffer.begin(minibatches)
    >>> while not buffer.exhausted:
    ...     data = buffer.passes.minibatch()  # learn from it, then
    ...     buffer.passes.advance()
    >>> buffer.clear()

    An exception between any two calls loses nothing: a minibatch that was not counted
    is returned again. All of this is in `state_dict`.

    Args:
        num_steps: `T`, steps of a rollout.
        observation_space: Space of one observation.
        action_space: Space of one action.
        num_envs: `N`, environments.
        device: Where the tensors live.

    Raises:
        ValueError: If `num_steps` is less than 1.
        MemoryError: If the device has less memory free than a rollout and the shuffled
            copy of an epoch need.
    """

    num_segments: int = 1
    """How many rollouts the memory holds."""

    get = CalledHere(
        "rollout() is [T, N], and yieldrl.buffers.transitions(rollout()) flattens it"
    )
    is_full = CalledHere("the property `full` says it")

    def __init__(
        self,
        num_steps: int,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        *,
        num_envs: int,
        device: torch.device | str = "cpu",
    ) -> None:
        if num_steps < 1:
            raise ValueError(f"num_steps = {num_steps}: choose at least 1")
        self.num_steps, self.num_envs = num_steps, num_envs
        self.device = torch.device(device)
        spec = transition_spec(observation_space, action_space)
        drawn = {path: spec[path] for path in spec if path[0] in ("obs", "action")}
        # The copy of an epoch has log_prob, value, advantage, returns and an order.
        copied = entry_bytes(drawn) + 4 * 4 + 8
        rows, beside = num_steps * self.num_segments, -(-copied // self.num_segments)
        size = {"field": "num_steps", "value": num_steps, "beside": beside}
        self._storage = Storage(rows, num_envs, spec, self.device, **size)
        self._progress = Progress()

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
        """Whether all minibatches of this rollout were learned from."""
        return self.passes is not None and self.passes.exhausted

    @property
    def continues(self) -> bool:
        """Whether this rollout continues the episodes of the one before.

        If not, `end_episodes` was called between them, or rows were lost: reset sums
        over episodes that are carried from rollout to rollout. Within a rollout
        `truncated` says as much.
        """
        return self._progress.continues

    @property
    def begins_anew(self) -> bool:
        """The opposite of `continues`; its old name."""
        return not self.continues

    def add(self, transition: Mapping[str, Any]) -> None:
        """Write one step of all environments, each entry `[N, ...]`.

        A rollout, a TensorDict `[T, N]`, is written row by row.

        Raises:
            RuntimeError: If the buffer is full.
            ValueError: If an entry does not fit; the row is not counted then.
        """
        if is_rollout(transition):
            add_rows(self, transition)
            return
        now = self._progress
        if now.row == self.num_steps:
            raise RuntimeError(
                "the rollout is full: learn from it and clear() it first"
            )
        self._storage.write(now.row, transition, first=now.row == 0)
        now.row += 1

    def row_to_write(self) -> dict[str, Any] | None:
        """The next row as tensors `[N, ...]` to write into, before `count_row`.

        None if `add` must write it, as it must the first row.
        """
        now = self._progress
        return self._storage.views(now.row) if 0 < now.row < self.num_steps else None

    def count_row(self) -> None:
        """Count the row of `row_to_write` as written."""
        self._progress.row += 1

    def end_episodes(self) -> None:
        """Mark the episodes under way as truncated: the next step begins others."""
        now = self._progress
        if now.row > 0:
            self._storage.truncate(now.row - 1)
        now.continues &= now.row > 0
        now.abandoned |= now.passes is not None  # read already: mark the next one

    def rollout(self) -> TensorDict:
        """The rollout so far `[T, N]`, sharing the buffer's memory."""
        return self._storage.tensordict(len(self))

    def begin(self, passes: Minibatches) -> None:
        """Keep the minibatches of this rollout until `clear`."""
        self._progress.passes = passes

    def clear(self) -> None:
        """Make room for the next rollout; the memory stays."""
        self._progress = Progress(continues=not self._progress.abandoned)

    def state_dict(self) -> dict[str, Any]:
        """The rollout so far and its minibatches; nothing of an exhausted one."""
        now = self._progress
        if self.exhausted:
            now = Progress(continues=not now.abandoned)
        return {
            "storage": self._storage.state_dict(now.row),
            "row": now.row,
            "num_steps": self.num_steps,
            "passes": None if now.passes is None else now.passes.state_dict(),
            "begins_anew": not now.continues,
            "abandoned": now.abandoned,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned.

        Raises:
            ValueError: If it does not fit this buffer.
        """
        saved, passes = state["num_steps"], state["passes"]
        if passes is not None and self.num_steps != saved:
            raise ValueError(
                f"num_steps = {self.num_steps}, but the checkpoint was taken half way"
                f" through learning from a rollout with num_steps = {saved}: go on with"
                " this once, or load a checkpoint taken while collecting"
            )
        self.clear()
        self._storage.load_state_dict(state["storage"])
        self._progress = Progress(
            state["row"],
            None if passes is None else Minibatches.from_state(passes, self.device),
            not state["begins_anew"],
            state["abandoned"],
        )
