"""Steps that are written until a buffer is full, learned from, and cleared."""

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.buffers.minibatches import Minibatches
from yieldrl.buffers.spec import check_at_least_one, copied, transition_spec
from yieldrl.buffers.storage import Storage, add_rollout
from yieldrl.core import defer_keyboard_interrupt
from yieldrl.core.files import saved_count


class StepRows:
    """Steps `[T, N]` of N environments, in the order in which they were written.

    Args:
        num_steps: `T`, steps of every environment, at least 1.
        observation_space: Space of one observation; None where rows have none.
        action_space: Space of one action.
        num_envs: `N`, environments.
        device: Where the tensors live; MemoryError if less is free than they need.
        next_obs: Whether to store `next_obs`.
        exact_obs: Whether to store observations in float64 that float32 does not hold.
        memory: Other arguments of `Storage`.
    """

    def __init__(
        self,
        num_steps: int,
        observation_space: gym.Space[Any] | None,
        action_space: gym.Space[Any],
        *,
        num_envs: int,
        device: torch.device | str = "cpu",
        next_obs: bool = True,
        exact_obs: bool = False,
        **memory: Any,
    ) -> None:
        check_at_least_one(num_steps=num_steps)
        self.num_steps, self.num_envs = num_steps, num_envs
        self.device = torch.device(device)
        spaces = observation_space, action_space
        spec = transition_spec(*spaces, next_obs=next_obs, exact_obs=exact_obs)
        self._storage = Storage(num_steps, num_envs, spec, self.device, **memory)
        self._row = 0

    def __len__(self) -> int:
        return self._row

    @property
    def full(self) -> bool:
        """Whether all T rows are written."""
        return self._row == self.num_steps

    def add(self, transition: Mapping[str, Any]) -> None:
        """Write a step, each entry `[N, ...]`, or the rows of a rollout `[T, N]`.

        RuntimeError if full, ValueError if an entry does not fit: it is not counted.
        """
        if add_rollout(self, transition):
            return
        if self._row == self.num_steps:
            raise RuntimeError(
                f"all {self.num_steps} steps are written: learn from them and clear()"
            )
        self._storage.write(self._row, transition, first=self._row == 0)
        self._row += 1

    def end_episodes(self) -> None:
        """Mark unfinished episodes as truncated: the next step begins new ones."""
        if self._row > 0:
            self._storage.truncate(self._row - 1)

    def rollout(self) -> TensorDict:
        """The steps so far `[T, N]`, sharing the buffer's memory."""
        return self._storage.tensordict(self._row)

    def clear(self) -> None:
        """Make room for the next steps; the memory stays."""
        self._row = 0

    def state_dict(self) -> dict[str, Any]:
        """The steps so far."""
        return {"storage": self._storage.state_dict(self._row), "row": self._row}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; ValueError if it does not fit."""
        self._row = 0
        self._storage.load_state_dict(state["storage"])
        self._row = saved_count(state, "row")


class RolloutBuffer(StepRows):
    """A rollout `[T, N]`: filled, learned from, cleared.

    An algorithm cuts it into `Minibatches`, which are stored and saved with the data.
    `clear` makes room for the next rollout, when they are `exhausted`.

    >>> space = gym.spaces.Discrete(2)
    >>> buffer = RolloutBuffer(2, space, space, num_envs=1)
    >>> step = {"obs": [0], "next_obs": [1], "action": [0], "reward": [1.0]}
    >>> for _ in range(2):
    ...     buffer.add({**step, "terminated": [False], "truncated": [False]})
    >>> data = buffer.rollout().flatten(0, 1)
    >>> buffer.minibatches = Minibatches(data, num_epochs=3, num_minibatches=2, seed=0)
    >>> while not buffer.exhausted:
    ...     data = buffer.minibatches.minibatch()  # learn from it, then
    ...     buffer.minibatches.advance()

    Args:
        num_steps: `T`, steps of a rollout, at least 1.
        observation_space: Space of one observation; None where rows have none.
        action_space: Space of one action.
        num_envs: `N`, environments.
        device: Of the tensors; MemoryError if a rollout and an epoch's copy do not fit.
        next_obs: Whether to store `next_obs`, which a critic needs: half of all images.
        exact_obs: Whether to store observations in float64 that float32 does not hold.

    Attributes:
        minibatches: What is learned from this rollout; None until that begins.
        continues: Whether it continues the episodes of the previous rollout; if not,
            reset sums over episodes.
    """

    def __init__(
        self,
        num_steps: int,
        observation_space: gym.Space[Any] | None,
        action_space: gym.Space[Any],
        *,
        num_envs: int,
        device: torch.device | str = "cpu",
        next_obs: bool = True,
        exact_obs: bool = False,
    ) -> None:
        spaces = observation_space, action_space
        super().__init__(
            num_steps,
            *spaces,
            num_envs=num_envs,
            device=device,
            next_obs=next_obs,
            exact_obs=exact_obs,
            field="num_steps",
            value=num_steps,
            beside=copied(transition_spec(*spaces, exact_obs=exact_obs)),
        )
        self.minibatches: Minibatches | None = None
        self.continues = True
        self._abandoned = False  # whether the next rollout begins new episodes

    @property
    def exhausted(self) -> bool:
        """Whether all minibatches of this rollout were used."""
        return self.minibatches is not None and self.minibatches.exhausted

    def write_at(self, row: Tensor, transition: Mapping[str, Any]) -> None:
        """Write a step of tensors into the row `[1]`, int64; `count` it after that."""
        self._storage.write_at(row, transition)

    def count(self) -> None:
        """Count a step that `write_at` has written."""
        self._row += 1

    def end_episodes(self) -> None:
        """Mark unfinished episodes as truncated: the next step begins new ones."""
        super().end_episodes()
        self.continues &= self._row > 0
        self._abandoned |= self.minibatches is not None  # too late for this rollout

    def clear(self) -> None:
        """Make room for the next rollout; the memory stays."""
        with defer_keyboard_interrupt():
            self._row, self.minibatches = 0, None
            self.continues, self._abandoned = not self._abandoned, False

    def state_dict(self) -> dict[str, Any]:
        """The rollout and its minibatches; without data if the rollout is exhausted."""
        done, started = self.exhausted, self.minibatches
        row = 0 if done else self._row
        return {
            "storage": self._storage.state_dict(row),
            "row": row,
            "num_steps": self.num_steps,
            "continues": not self._abandoned if done else self.continues,
            "abandoned": self._abandoned and not done,
            "minibatches": None if done or started is None else started.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; ValueError if it does not fit."""
        minibatches, saved = state["minibatches"], state["num_steps"]
        if minibatches is not None and saved != self.num_steps:
            raise ValueError(
                f"num_steps = {self.num_steps}, but the checkpoint was taken half way"
                f" through learning from a rollout with num_steps = {saved}: go on with"
                " this once, or load a checkpoint taken while collecting"
            )
        self.minibatches = None
        super().load_state_dict(state)
        if minibatches is not None:
            self.minibatches = Minibatches.from_state(minibatches, self.device)
        self.continues, self._abandoned = state["continues"], state["abandoned"]


class StepBuffer(StepRows):
    """One step of N environments; the next one overwrites it.

    Steps that only reset an environment (NEXT_STEP autoreset) are no transitions: if a
    step only resets all environments, the buffer stays empty.

    Args:
        args: `observation_space` and `action_space`, of one environment.
        num_envs: `N`, environments.
        kwargs: `device`, where the tensors live; or what `args` lacks.
    """

    def __init__(self, *args: Any, num_envs: int, **kwargs: Any) -> None:
        size = {"num_envs": num_envs, "field": "num_envs", "value": num_envs}
        super().__init__(1, *args, **size, **kwargs)
        self._view: TensorDict | None = None  # of these entries
        self._entries: frozenset[str] = frozenset()

    def add(self, transition: Mapping[str, Any]) -> None:
        super().add(transition)
        if "valid" in transition and not bool(transition["valid"].any()):
            self.clear()

    def transitions(self) -> TensorDict:
        """The transitions `[N]`, in the buffer's memory; RuntimeError if empty."""
        if not self.full:
            raise RuntimeError("the step buffer is empty: collect first")
        if self._view is None or self._entries is not self._storage.entries:
            # Made once: constructing a TensorDict takes longer than learning from it.
            self._view = self._storage.tensordict()[0]
            self._entries = self._storage.entries
        return self._view

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_view": None}  # a copy has memory of its own


class CircularBuffer:
    """A ring of rollouts `[T, N]`: the oldest is read while newer ones are written.

    A full ring is written over: the oldest rollout goes, but not one that `rollout`
    returned, until `clear`.

    Args:
        args: The arguments of a `RolloutBuffer`, as are `kwargs`.
        num_segments: Number of rollouts, at least 2, one to read and one to write.
        kwargs: See `args`.

    Attributes:
        segments: The rollouts that wait, the oldest first, the last one unfinished.
        dropped: Steps of all environments that were written over before they were read.
    """

    def __init__(self, *args: Any, num_segments: int = 2, **kwargs: Any) -> None:
        if num_segments < 2:
            least = "choose at least 2, one to be read and one to be written"
            raise ValueError(f"num_segments = {num_segments}: {least}")
        self.segments: list[RolloutBuffer] = []
        self._free = [RolloutBuffer(*args, **kwargs) for _ in range(num_segments)]
        self.dropped, self._is_read = 0, False  # whether the oldest is

    def __len__(self) -> int:
        return sum(len(segment) for segment in self.segments)

    @property
    def full(self) -> bool:
        """Whether a whole rollout waits to be learned from."""
        return bool(self.segments) and self.segments[0].full

    def add(self, transition: Mapping[str, Any]) -> None:
        """Write a step, each entry `[N, ...]`, or the rows of a rollout `[T, N]`.

        ValueError if an entry does not fit: it is not counted.
        """
        if add_rollout(self, transition):
            return
        if not self.segments or self.segments[-1].full:
            with defer_keyboard_interrupt():
                if not self._free:
                    lost = self.segments.pop(1 if self._is_read else 0)
                    self.dropped += len(lost)
                    self._free.append(lost)
                self.segments.append(self._free.pop())
                self.segments[-1].clear()
        self.segments[-1].add(transition)

    def end_episodes(self) -> None:
        """Mark unfinished episodes as truncated: the next step begins new ones."""
        for segment in self.segments:
            segment.end_episodes()

    def rollout(self) -> TensorDict:
        """The oldest rollout `[T, N]`, in the buffer's memory until `clear`.

        RuntimeError if none is whole.
        """
        if not self.full:
            raise RuntimeError("no rollout is whole yet: add steps until `full`")
        self._is_read = True
        return self.segments[0].rollout()

    def clear(self) -> None:
        """Release the oldest rollout; its memory is written again."""
        if self.segments:
            with defer_keyboard_interrupt():
                self._free.append(self.segments.pop(0))
                self._is_read = False

    def state_dict(self) -> dict[str, Any]:
        """The rollouts that wait."""
        segments = [segment.state_dict() for segment in self.segments]
        return {"segments": segments, "dropped": self.dropped}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned; ValueError if it does not fit."""
        both, count = [*self.segments, *self._free], len(state["segments"])
        self.segments, self._free, self._is_read = both[:count], both[count:], False
        for segment, saved in zip(self.segments, state["segments"], strict=True):
            segment.load_state_dict(saved)
        self.dropped = state["dropped"]
