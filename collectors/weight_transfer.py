"""Transfers weights from the model that learns to the copy that acts."""

import threading

import torch
from torch import Tensor, nn


class Weights:
    """A mailbox: the learner puts its newest weights in, the actor takes them out.

    Both copy under one lock. Parameters that both models share are skipped.
    """

    def __init__(self, learner: nn.Module, actor: nn.Module) -> None:
        self.learner = learner
        self.newest: int | None = None  # the latest version that was put
        learned, self._copies = _tensors(learner), _tensors(actor)
        pairs = list(zip(learned, self._copies, strict=True))
        self._shared = [a if a is b else None for a, b in pairs]
        self._acting = [b for a, b in pairs if a is not b]
        self._mail = [tensor.clone() for tensor in self._acting]
        self._learned()  # raise early if it cannot be put
        self._lock = threading.Lock()
        self._version: int | None = None  # the version not taken yet

    @torch.no_grad()
    def put(self, version: int) -> None:
        """Put the learner's weights in, between two gradient steps; or RuntimeError."""
        learned = self._learned()
        with self._lock:
            self._version = None  # until the copy is complete
            self._copy(self._mail, learned)
            self._version = self.newest = version

    @torch.no_grad()
    def take(self) -> int | None:
        """Copy newer weights into the actor, from its thread; their version, if any."""
        with self._lock:  # newer weights may be copied now
            version, self._version = self._version, None
            if version is not None:
                self._copy(self._acting, self._mail)
        return version

    def _copy(self, to: list[Tensor], source: list[Tensor]) -> None:
        if to:
            torch._foreach_copy_(to, source)  # pyright: ignore[reportPrivateImportUsage]
            if to[0].is_cuda:  # each side has a stream of its own
                torch.cuda.current_stream(to[0].device).synchronize()

    def _learned(self) -> list[Tensor]:
        """The learner's tensors, without those that the actor shares."""
        learned = _tensors(self.learner)
        if [x.shape for x in learned] != [x.shape for x in self._copies]:
            raise RuntimeError(
                "the model was given other parts since the collector was made, and the"
                " copy that acts lacks them: make the trainer with the changed model"
            )
        pairs = list(zip(learned, self._shared, strict=True))
        if any(a is b and a.requires_grad for a, b in pairs):
            raise RuntimeError(
                "the agent that acts shares parameters that learn: let its `actor` have"
                " a copy of the model; or, if they were frozen when the collector was"
                " made, make the trainer with the changed model"
            )
        return [tensor for tensor, shared in pairs if shared is None]


def _tensors(model: nn.Module) -> list[Tensor]:
    """All parameters and buffers of a model, in one traversal."""
    return [
        tensor
        for part in model.modules()
        for tensor in (*part._parameters.values(), *part._buffers.values())
        if tensor is not None
    ]
