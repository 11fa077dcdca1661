"""A replay buffer in an actor: its transitions are in another process's memory."""

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.distributed.answers import answer_of
from yieldrl.distributed.cluster import Cluster
from yieldrl.distributed.pool import DeadWorkerError, WorkerError, pickled
from yieldrl.distributed.replay_actor import ReplayBufferActor, Write
from yieldrl.envs.arrays import as_tensors, copied
from yieldrl.envs.batched.tree import tree_map
from yieldrl.foundations import defer_keyboard_interrupt
from yieldrl.foundations.conversion import copied_array
from yieldrl.foundations.trees import map_tensors

MAX_WRITES = 64
"""Number of writes that are sent to the actor together, if no sample comes before."""

MAX_IN_FLIGHT = 4
"""Most unanswered messages of writes; more wait until the actor took the oldest."""


class RemoteReplay:
    """A replay buffer for a trainer, whose transitions are in an actor.

    Writes are sent with the next sample, or before it in messages of some size: a
    writer waits if the actor is behind with several of these. After several samples
    without a write between them, the next one is drawn beforehand; if a write comes
    first, it is drawn again, so that batches are those of a buffer in this process.

    Args:
        cluster: The cluster for the actor.
        kind: The buffer's class, a `ReplayBuffer`.
        capacity: Transitions to keep.
        options: Its other arguments.

    Raises:
        WorkerError: If the buffer cannot be made; from any method, if the actor has
            died, because its transitions are lost.
    """

    def __init__(
        self, cluster: Cluster, kind: type[Any], capacity: int, **options: Any
    ) -> None:
        self.device = torch.device(options.pop("device", "cpu"))
        self.num_envs = options["num_envs"]
        self.rows = capacity // self.num_envs
        self._cluster = cluster
        self._actor = cluster.actor(ReplayBufferActor)
        made_of = pickled((kind, (capacity,)))
        self.horizon = self._answer(self._actor.make.remote(made_of, options))
        self._held = 0  # complete rows
        self._writes: list[Write] = []  # not sent to the actor yet
        self._under_way: deque[Any] = deque()
        self._drawn: tuple[tuple[Any, ...], Any] | None = None  # drawn, not used yet
        self._samples = self._usual = 0  # since the latest write, and between writes

    def __len__(self) -> int:
        return max(0, self._held - (self.horizon - 1)) * self.num_envs

    @property
    def capacity(self) -> int:
        """Transitions that it can hold."""
        return self.rows * self.num_envs

    def add(self, transition: Mapping[str, Any]) -> None:
        """Write a step, each entry `[N, ...]`; errors of the actor are raised later."""
        self._write("add", tree_map(copied_array, transition))
        self._held = min(self._held + 1, self.rows)

    def end_episodes(self) -> None:
        """Mark the episodes under way as truncated: the next step begins others."""
        self._write("end_episodes")

    def update_priorities(self, index: Tensor, td_error: Tensor) -> None:
        """Give transitions priorities, if the buffer has them: see its class."""
        self._write("update_priorities", copied_array(index), copied_array(td_error))

    def sample(self, *args: Any) -> TensorDict:
        """A batch `[B]` on the learner's device, as the buffer's class draws it."""
        if len(self) == 0:
            raise RuntimeError("the replay buffer is empty: collect first")
        if self._drawn is None or self._drawn[0] != args or self._writes:
            self._draw(args)
        assert self._drawn is not None
        while self._under_way:  # to raise errors of writes
            self._answer(self._under_way.popleft())
        found = self._answer(self._drawn[1])
        with defer_keyboard_interrupt():
            self._drawn, self._samples = None, self._samples + 1
            if self._samples < self._usual:
                self._draw(args)
        tensors = tree_map(lambda x: torch.from_numpy(np.array(x)), found)
        size = [len(found["reward"])]
        batch = TensorDict(tensors, size, device="cpu", non_blocking=False)
        return batch if self.device.type == "cpu" else batch.to(self.device)

    def state_dict(self) -> dict[str, Any]:
        """The buffer's `state_dict`, which a buffer in this process can load."""
        with defer_keyboard_interrupt():
            parts = self._taken()
            asked = self._actor.state_dict.remote(*parts)
        return as_tensors(copied(self._answer(asked)))

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self._taken()
        arrays = map_tensors(Tensor.numpy, dict(state))
        self._answer(self._actor.load_state_dict.remote(arrays))
        overwritten = max(0, state["begun"] - state["rows"])
        self._held = state["written"] - overwritten

    def _write(self, method: str, *args: Any) -> None:
        if self._samples:
            self._usual, self._samples = self._samples, 0
        self._writes.append((method, args))
        if len(self._writes) < MAX_WRITES:
            return
        if len(self._under_way) == MAX_IN_FLIGHT:
            self._answer(self._under_way.popleft())
        with defer_keyboard_interrupt():
            self._under_way.append(self._actor.write.remote(self._writes))
            self._writes = []

    def _draw(self, args: tuple[Any, ...]) -> None:
        """Ask for a batch, and send the writes with the request."""
        with defer_keyboard_interrupt():
            parts = self._taken()
            self._drawn = args, self._actor.sample.remote(*parts, args)

    def _taken(self) -> tuple[list[Write], bool]:
        """Writes to be sent now, and whether a batch was drawn in vain."""
        parts = self._writes, self._drawn is not None
        self._writes, self._drawn = [], None
        return parts

    def _answer(self, asked: Any) -> Any:
        try:
            return answer_of("replay actor", asked)
        except DeadWorkerError as error:
            raise WorkerError(
                "the replay actor has died, and its transitions with it: resume the run"
                " from its newest checkpoint; if it was out of memory, lower"
                " buffer_size"
            ) from error
        except WorkerError:
            self._drawn = None
            raise
