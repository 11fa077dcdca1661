"""The weights of a policy on their way from the learner to the copy that acts."""

from __future__ import annotations

import threading
from typing import Any

import torch
from torch import Tensor, nn


class Weights:
    """A mailbox: the learner puts its newest weights in, the actor takes them out.

    Both copy under one lock, so that nobody sees half of them; neither waits for more
    than a copy of the other's. What was not taken is replaced by what is newer.

    Args:
        learner: The model that learns.
        actor: Its copy that acts. Parameters that both share are left alone.
    """

    def __init__(self, learner: nn.Module, actor: nn.Module) -> None:
        self.learner, self.actor = learner, actor
        self._lock = threading.Lock()
        self._mail = [tensor.clone() for tensor, _ in self._pairs()]
        self._version: int | None = None  # of what was not taken yet
        self._copied: Any = None

    @torch.no_grad()
    def put(self, version: int) -> None:
        """Put the learner's weights in, from its thread, between two gradient steps.

        Raises:
            RuntimeError: If the model has other tensors than the copy that acts.
        """
        learner = [tensor for tensor, _ in self._pairs()]
        with self._lock:
            self._copy(self._mail, learner)
            self._version = version

    @torch.no_grad()
    def take(self) -> int | None:
        """Take them over, from the thread of the actor.

        Returns:
            Their version; None if there are no newer ones.
        """
        if self._version is None:
            return None
        actor = [tensor for _, tensor in self._pairs()]
        with self._lock:
            self._copy(actor, self._mail)
            version, self._version = self._version, None
        return version

    def _copy(self, to: list[Tensor], source: list[Tensor]) -> None:
        if not to:
            return
        # On a GPU each side has a stream of its own: the copy before must be done.
        stream = torch.cuda.current_stream(to[0].device) if to[0].is_cuda else None
        if stream is not None and self._copied is not None:
            stream.wait_event(self._copied)
        torch._foreach_copy_(to, source)  # pyright: ignore[reportPrivateImportUsage]
        if stream is not None:
            self._copied = stream.record_event()

    def _pairs(self) -> list[tuple[Tensor, Tensor]]:
        """The learner's tensors and the actor's, but for those that are one."""
        theirs = [_tensors(model) for model in (self.learner, self.actor)]
        shapes = [[tensor.shape for tensor in tensors] for tensors in theirs]
        if shapes[0] != shapes[1]:
            raise RuntimeError(
                "the model was given other parts since the collector was made, and the"
                " copy that acts lacks them: make the trainer with the changed model"
            )
        return [(a, b) for a, b in zip(*theirs, strict=True) if a is not b]


def _tensors(model: nn.Module) -> list[Tensor]:
    return [*model.parameters(), *model.buffers()]
