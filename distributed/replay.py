"""A replay buffer in an actor: its transitions are in another process's memory."""

import pickle
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from tensordict import TensorDict
from torch import Tensor

from yieldrl.core import defer_keyboard_interrupt
from yieldrl.core.conversion import copied_array
from yieldrl.core.trees import map_tensors
from yieldrl.distributed.actors import ActorPool, DeadWorkerError, WorkerError
from yieldrl.distributed.cluster import Cluster
from yieldrl.distributed.recipes import pickled
from yieldrl.envs.arrays import as_tensors, copied, tree_map

Call = tuple[str, tuple[Any, ...]]
"""The name of a method of the buffer, and its arguments."""

MAX_WRITES = 64
"""Number of writes that are sent to the actor together, if no sample comes before."""


class ReplayBufferActor:
    """Holds a replay buffer, and draws its batches for the learner.

    Args:
        recipe: What makes the buffer, pickled.
    """

    def __init__(self, recipe: bytes) -> None:
        torch.set_num_threads(1)
        self._buffer = pickle.loads(recipe)()

    def call(self, calls: Sequence[Call]) -> Any:
        """Call methods of the buffer; the last one's answer, arrays for tensors."""
        answer: Any = None
        for name, args in calls:
            tensors = args if name == "add" else map(as_tensors, args)
            answer = getattr(self._buffer, name)(*tensors)
        entries = answer.to_dict() if isinstance(answer, TensorDict) else answer
        return map_tensors(Tensor.numpy, entries)


class RemoteReplay:
    """A replay buffer for a trainer, whose transitions are in an actor.

    Its batches are those of a buffer in this process. Writes are sent with the next
    sample, or before it in messages of some size, for which a writer waits.

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
        self.num_envs, self.n_step = options["num_envs"], options.get("n_step", 1)
        self.rows = capacity // self.num_envs
        recipe = pickled(partial(kind, capacity, **options))
        parts = cluster, "replay_actors", ReplayBufferActor, 1, "its buffer"
        self._pool = ActorPool(*parts, lambda index, life: (recipe,))
        self._held = 0  # complete rows
        self._calls: list[Call] = []  # not sent to the actor yet
        self._pool.ask_all("call", [])  # raises if it cannot be made

    def __len__(self) -> int:
        return max(0, self._held - (self.n_step - 1)) * self.num_envs

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
        arrays = self._ask("sample", *args)
        tensors = tree_map(lambda x: torch.from_numpy(np.array(x)), arrays)
        size = [len(arrays["reward"])]
        batch = TensorDict(tensors, size, device="cpu", non_blocking=False)
        return batch if self.device.type == "cpu" else batch.to(self.device)

    def state_dict(self) -> dict[str, Any]:
        """The buffer's `state_dict`, which a buffer in this process can load."""
        return as_tensors(copied(self._ask("state_dict")))

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self._calls = []
        self._ask("load_state_dict", map_tensors(Tensor.numpy, dict(state)))
        overwritten = max(0, state["begun"] - state["rows"])
        self._held = state["written"] - overwritten

    def _write(self, name: str, *args: Any) -> None:
        self._calls.append((name, args))
        if len(self._calls) >= MAX_WRITES:
            self._send()

    def _ask(self, name: str, *args: Any) -> Any:
        self._calls.append((name, args))
        return self._send()

    def _send(self) -> Any:
        """Send all calls in one message; the answer to the last one."""
        with defer_keyboard_interrupt():
            call = self._pool.ask(0, "call", self._calls)
            self._calls = []
        try:
            return self._pool.get(call)
        except DeadWorkerError as error:
            raise WorkerError(
                "the replay actor has died, and its transitions with it: resume the run"
                " from its newest checkpoint; if it was out of memory, lower"
                " buffer_size"
            ) from error
