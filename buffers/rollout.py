"""The rollout buffer: T steps of N environments, learned from once, then cleared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import torch
from tensordict import TensorDict

from yieldrl.buffers.storage import Storage, transition_spec
from yieldrl.foundations import restore_generator


class RolloutBuffer:
    """A rollout `[T, N]`, then its minibatches in random order, epoch by epoch.

    `add` fills row after row until `full`. Then `prepare` is given the whole rollout
    with whatever learning needs besides (advantages), and `minibatch` deals it out;
    when every epoch is dealt, `clear` makes room for the next rollout. All of this,
    the order of an epoch under way too, is in `state_dict`.

    Args:
        num_steps: `T`, steps of a rollout.
        observation_space: Space of one observation.
        action_space: Space of one action.
        num_envs: `N`, environments.
        num_minibatches: Into how many minibatches an epoch is cut.
        device: Where the tensors live.
        seed: Seed of the order in which transitions are dealt.

    Raises:
        ValueError: If there are more minibatches than transitions.
        MemoryError: If the device has less memory free than the buffer needs.
    """

    def __init__(
        self,
        num_steps: int,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        *,
        num_envs: int,
        num_minibatches: int = 1,
        device: torch.device | str = "cpu",
        seed: int = 0,
    ) -> None:
        self.num_steps, self.num_envs = num_steps, num_envs
        self.num_minibatches = num_minibatches
        self._check_minibatches(num_steps * num_envs)
        self.device = torch.device(device)
        spec = transition_spec(observation_space, action_space)
        self._storage = Storage(num_steps, num_envs, spec, self.device)
        self._generator = torch.Generator(self.device).manual_seed(seed)
        self._prepared: TensorDict | None = None
        self._order: torch.Tensor | None = None
        self._epoch_data: tuple[TensorDict, ...] = ()
        self.row = 0
        self.dealt = 0

    def __len__(self) -> int:
        return self.row

    @property
    def full(self) -> bool:
        """Whether all T rows are written."""
        return self.row == self.num_steps

    @property
    def prepared(self) -> bool:
        """Whether `prepare` was called for this rollout."""
        return self._prepared is not None

    @property
    def epochs_dealt(self) -> int:
        """How many times the whole rollout was dealt out."""
        return self.dealt // self.num_minibatches

    def add(self, transition: Mapping[str, Any]) -> None:
        """Write one step of all environments, each entry `[N, ...]`.

        Raises:
            RuntimeError: If the buffer is full.
        """
        if self.full:
            raise RuntimeError(
                "the rollout is full: learn from it and clear() it first"
            )
        for name, value in transition.items():
            self._storage.write(self.row, (name,), value)
        self.row += 1

    def end_episodes(self) -> None:
        """Say that the episodes under way will not go on, as if they were truncated."""
        if self.row > 0:
            self._storage.truncate(self.row - 1)

    def rollout(self) -> TensorDict:
        """The rollout so far `[T, N]`, sharing the buffer's memory."""
        return self._storage.tensordict(self.row)

    def prepare(self, rollout: TensorDict) -> None:
        """Take the completed rollout `[T, N]` that minibatches are drawn from.

        Raises:
            ValueError: If too few of its transitions are valid for the minibatches.
        """
        pieces = self.pieces(rollout)
        self._check_minibatches(len(pieces))
        self._prepared = pieces
        self.dealt = 0

    def pieces(self, rollout: TensorDict) -> TensorDict:
        """What an epoch shuffles: the transitions `[B]` of a rollout `[T, N]`."""
        flat = rollout.flatten(0, 1)
        if "valid" in flat.keys():  # noqa: SIM118 - TensorDict iterates over the batch
            flat = flat[flat["valid"]]  # steps that only reset teach nothing
        return flat

    def minibatch(self) -> TensorDict:
        """The next minibatch `[B]`; a new random order begins with every epoch.

        Raises:
            RuntimeError: If `prepare` was not called.
        """
        if self._prepared is None:
            raise RuntimeError("prepare(rollout) first: advantages are still missing")
        position = self.dealt % self.num_minibatches
        if position == 0:
            self._order = torch.randperm(
                len(self._prepared), generator=self._generator, device=self.device
            )
            self._epoch_data = ()
        if not self._epoch_data:
            self._epoch_data = self._shuffled()
        self.dealt += 1
        return self._epoch_data[position]

    def clear(self) -> None:
        """Make room for the next rollout; the memory stays."""
        self.row = self.dealt = 0
        self._prepared = None
        self._order = None
        self._epoch_data = ()

    def state_dict(self) -> dict[str, Any]:
        """The rollout so far, and how far it was dealt out."""
        prepared = self._prepared
        return {
            "storage": self._storage.state_dict(self.row),
            "row": self.row,
            "prepared": None if prepared is None else prepared.to_dict(),
            "prepared_size": [] if prepared is None else list(prepared.batch_size),
            "order": self._order,
            "dealt": self.dealt,
            "schedule": [self.num_steps, self.num_minibatches],
            "generator": self._generator.get_state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned.

        Raises:
            ValueError: If it does not fit this buffer.
        """
        own, saved = [self.num_steps, self.num_minibatches], state["schedule"]
        if state["prepared"] is not None and own != saved:
            raise ValueError(
                f"[num_steps, num_minibatches] = {own}, but the checkpoint was taken"
                f" half way through the minibatches of a rollout with {saved}: go on"
                " with these once, or load a checkpoint taken while collecting"
            )
        self.clear()
        self._storage.load_state_dict(state["storage"])
        self.row, self.dealt = state["row"], state["dealt"]
        restore_generator(self._generator, state["generator"])
        if state["prepared"] is not None:
            self._prepared = TensorDict(
                state["prepared"], state["prepared_size"], device=self.device
            )
        if state["order"] is not None:
            self._order = state["order"].to(self.device)

    def _check_minibatches(self, transitions: int) -> None:
        """An empty minibatch would be a loss of NaN."""
        if transitions < self.num_minibatches:
            raise ValueError(
                f"{transitions} transitions cannot be cut into num_minibatches ="
                f" {self.num_minibatches}: choose fewer, or a longer rollout"
            )

    def _shuffled(self) -> tuple[TensorDict, ...]:
        """One gather an epoch; the minibatches are views of it."""
        assert self._prepared is not None
        assert self._order is not None
        order, count = self._order, len(self._order)
        shuffled = self._prepared.apply(lambda leaf: leaf.index_select(0, order))
        assert shuffled is not None
        cuts = [count * i // self.num_minibatches for i in range(self.num_minibatches)]
        ends = [*cuts[1:], count]
        return tuple(shuffled[a:b] for a, b in zip(cuts, ends, strict=True))
