"""The rollout buffer: T steps of N environments, learned from, then cleared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import torch
from tensordict import TensorDict

from yieldrl.buffers.passes import Passes
from yieldrl.buffers.spec import entry_bytes, transition_spec
from yieldrl.buffers.storage import Storage
from yieldrl.foundations import restore_generator


@dataclass(slots=True)
class _Progress:
    """All that `clear` forgets, in one object: an exception leaves no half of it."""

    row: int = 0
    passes: Passes | None = None
    begins_anew: bool = False  # no episode goes on from the rollout before
    abandoned: bool = False  # no episode will go on in the next one


class RolloutBuffer:
    """A rollout `[T, N]`, then its minibatches in random order, epoch by epoch.

    `add` fills row after row until `full`. Then `prepare` takes the whole rollout with
    whatever learning needs besides (advantages). From then on `minibatch` returns the
    one that is due, and `advance` counts it as learned from. Once `exhausted`, `clear`
    makes room for the next rollout.

    >>> space = gym.spaces.Discrete(2)
    >>> buffer = RolloutBuffer(2, space, space, num_envs=1, num_epochs=3)
    >>> step = {"obs": [0], "next_obs": [1], "action": [0], "reward": [1.0]}
    >>> for _ in range(2):
    ...     buffer.add({**step, "terminated": [False], "truncated": [False]})
    >>> buffer.prepare(buffer.rollout())
    >>> while not buffer.exhausted:
    ...     data = buffer.minibatch()  # learn from it, then
    ...     buffer.advance()

    An exception between any two calls loses nothing: the minibatch that was not
    counted is due again. All of this, the order of an epoch under way too, is in
    `state_dict`.

    Args:
        num_steps: `T`, steps of a rollout.
        observation_space: Space of one observation.
        action_space: Space of one action.
        num_envs: `N`, environments.
        num_epochs: How many times a rollout is passed over.
        num_minibatches: Into how many minibatches an epoch is cut.
        device: Where the tensors live.
        seed: Seed of the order in which transitions are drawn.

    Raises:
        ValueError: If a number is less than 1, or there are more minibatches than
            transitions.
        MemoryError: If the device has less memory free than a rollout and the shuffled
            copy of an epoch need.
    """

    def __init__(
        self,
        num_steps: int,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        *,
        num_envs: int,
        num_epochs: int = 1,
        num_minibatches: int = 1,
        device: torch.device | str = "cpu",
        seed: int = 0,
    ) -> None:
        for name, value in (
            ("num_steps", num_steps),
            ("num_epochs", num_epochs),
            ("num_minibatches", num_minibatches),
        ):
            if value < 1:
                raise ValueError(f"{name} = {value}: choose at least 1")
        self.num_steps, self.num_envs = num_steps, num_envs
        self.num_epochs, self.num_minibatches = num_epochs, num_minibatches
        self._check_minibatches(num_steps * num_envs)
        self.device = torch.device(device)
        spec = transition_spec(observation_space, action_space)
        drawn = {path: spec[path] for path in spec if path[0] in ("obs", "action")}
        self._storage = Storage(
            num_steps,
            num_envs,
            spec,
            self.device,
            field="num_steps",
            value=num_steps,
            # An epoch's copy, with log_prob, value, advantage, returns and its order.
            beside=entry_bytes(drawn) + 4 * 4 + 8,
        )
        self._generator = torch.Generator(self.device).manual_seed(seed)
        self._now = _Progress()

    def __len__(self) -> int:
        return self._now.row

    @property
    def full(self) -> bool:
        """Whether all T rows are written."""
        return self._now.row == self.num_steps

    @property
    def prepared(self) -> bool:
        """Whether `prepare` was called for this rollout."""
        return self._now.passes is not None

    @property
    def exhausted(self) -> bool:
        """Whether every minibatch was learned from, or `stop` was called."""
        passes = self._now.passes
        return passes is not None and passes.exhausted

    @property
    def begins_anew(self) -> bool:
        """Whether `end_episodes` was called between the rollout before and this one.

        Whoever carries sums of episodes from rollout to rollout must forget them then.
        Within a rollout `truncated` says as much.
        """
        return self._now.begins_anew

    def add(self, transition: Mapping[str, Any]) -> None:
        """Write one step of all environments, each entry `[N, ...]`.

        Raises:
            RuntimeError: If the buffer is full.
            ValueError: If an entry does not fit; the row is not counted then.
        """
        now = self._now
        if now.row == self.num_steps:
            raise RuntimeError(
                "the rollout is full: learn from it and clear() it first"
            )
        self._storage.write(now.row, transition, first=now.row == 0)
        now.row += 1

    def end_episodes(self) -> None:
        """Say that the episodes under way will not go on, as if they were truncated."""
        now = self._now
        if now.row > 0:
            self._storage.truncate(now.row - 1)
        now.begins_anew |= now.row == 0
        now.abandoned |= now.passes is not None  # it was read before: mark the next one

    def rollout(self) -> TensorDict:
        """The rollout so far `[T, N]`, sharing the buffer's memory."""
        return self._storage.tensordict(self._now.row)

    def prepare(self, rollout: TensorDict) -> None:
        """Take the completed rollout `[T, N]` that minibatches are drawn from.

        Called again before `clear`, it replaces the numbers (advantages computed anew,
        say): what was learned from stays counted, and the epoch keeps its order.

        Where fewer of its transitions are valid than there are minibatches, there are
        fewer minibatches: none is empty. Where none is valid it is exhausted at once.

        Raises:
            ValueError: If they are not those of the rollout that is learned from.
        """
        pieces = self.pieces(rollout)
        if self._now.passes is not None:
            self._now.passes.replace(pieces)
        else:
            self._now.passes = self._new_passes(pieces)

    def pieces(self, rollout: TensorDict) -> TensorDict:
        """What an epoch shuffles: the transitions `[B]` of a rollout `[T, N]`."""
        flat = rollout.flatten(0, 1)
        if "valid" in flat.keys():  # noqa: SIM118 - TensorDict iterates over the batch
            flat = flat[flat["valid"]]  # steps that only reset teach nothing
        return flat

    def minibatch(self) -> TensorDict:
        """The minibatch `[B]` that is due, however often it is called.

        Every epoch has a random order of its own, drawn with its first minibatch.

        Raises:
            RuntimeError: If `prepare` was not called, or the rollout is exhausted.
        """
        return self._passes().minibatch()

    def advance(self) -> None:
        """Count the minibatch that is due as learned from; the next one is due.

        Raises:
            RuntimeError: If `prepare` was not called, or the rollout is exhausted.
        """
        self._passes().advance()

    def stop(self) -> None:
        """End the passes over this rollout before all epochs are done.

        Raises:
            RuntimeError: If `prepare` was not called.
        """
        self._passes().stop()

    def clear(self) -> None:
        """Make room for the next rollout; the memory stays."""
        self._now = self._cleared()

    def state_dict(self) -> dict[str, Any]:
        """The rollout so far, and how far it was learned from.

        Of an exhausted one nothing is needed any more: it is saved as if cleared.
        """
        now = self._cleared() if self.exhausted else self._now
        return {
            "storage": self._storage.state_dict(now.row),
            "row": now.row,
            "passes": None if now.passes is None else now.passes.state_dict(),
            "begins_anew": now.begins_anew,
            "abandoned": now.abandoned,
            "schedule": [self.num_steps, self.num_minibatches],
            "generator": self._generator.get_state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned.

        Raises:
            ValueError: If it does not fit this buffer.
        """
        own, saved = [self.num_steps, self.num_minibatches], state["schedule"]
        if state["passes"] is not None and own != saved:
            raise ValueError(
                f"[num_steps, num_minibatches] = {own}, but the checkpoint was taken"
                f" half way through the minibatches of a rollout with {saved}: go on"
                " with these once, or load a checkpoint taken while collecting"
            )
        self.clear()
        self._storage.load_state_dict(state["storage"])
        restore_generator(self._generator, state["generator"])
        now = _Progress(state["row"], None, state["begins_anew"], state["abandoned"])
        if state["passes"] is not None:
            now.passes = self._new_passes(TensorDict())
            now.passes.load_state_dict(state["passes"])
        self._now = now

    def _cleared(self) -> _Progress:
        return _Progress(begins_anew=self._now.abandoned)

    def _new_passes(self, pieces: TensorDict) -> Passes:
        return Passes(pieces, self.num_epochs, self.num_minibatches, self._generator)

    def _passes(self) -> Passes:
        if self._now.passes is None:
            raise RuntimeError("prepare(rollout) first: advantages are still missing")
        return self._now.passes

    def _check_minibatches(self, transitions: int) -> None:
        """An empty minibatch would be a loss of NaN."""
        if transitions < self.num_minibatches:
            raise ValueError(
                f"{transitions} transitions cannot be cut into num_minibatches ="
                f" {self.num_minibatches}: choose fewer, or a longer rollout"
            )
