"""Agents and weights for other processes, with a signature that the receiver checks."""

from __future__ import annotations

import importlib
import pickle
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from yieldrl.collectors.segments import tensors_of
from yieldrl.distributed.recipes import pickled

LARGE = 1 << 16
"""Bytes; larger buffers are sent only if they have changed."""

Signature = dict[str, tuple[tuple[int, ...], str]]
"""Shape and dtype of tensors by name."""


class SignatureError(RuntimeError):
    """The sent tensors do not match those of the receiver."""


def signature_of(tensors: Mapping[str, Tensor]) -> Signature:
    """The signature of tensors by name.

    >>> signature_of({"bias": torch.zeros(2)})
    {'bias': ((2,), 'torch.float32')}
    """
    return {name: (tuple(x.shape), str(x.dtype)) for name, x in tensors.items()}


@dataclass(frozen=True)
class Weights:
    """Weights of a model in one message: arrays, their signature and their version.

    Ray sends arrays without copying them several times, which it does with tensors.
    """

    version: int  # the `policy_version`, or the version of another model
    signature: Signature
    arrays: dict[str, np.ndarray]  # by name; bfloat16 as int16, which NumPy knows

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor], version: int) -> Weights:
        """The message of tensors by name, on any device."""
        arrays = {name: _bits(x.detach().cpu()).numpy() for name, x in tensors.items()}
        return cls(version, signature_of(tensors), arrays)

    def checksum(self) -> int:
        """A number that changes with any bit of the weights or of their names."""
        total = 0
        for name, array in self.arrays.items():
            total = zlib.crc32(array.tobytes(), zlib.crc32(name.encode(), total))
        return total

    @torch.no_grad()
    def load(self, model: nn.Module) -> None:
        """Copy them into a model.

        Raises:
            SignatureError: If other arrays came than were signed, or the model has
                other tensors by these names; nothing is copied.
        """
        self._check_arrays()
        tensors = tensors_of(model)
        own = signature_of({k: tensors[k] for k in self.signature if k in tensors})
        for name, sent in sorted(self.signature.items()):
            if sent != own.get(name):
                raise SignatureError(
                    f"weights of version {self.version}: {name} was sent as {sent}, and"
                    f" the receiver has {own.get(name, 'nothing')}. Models must not"
                    " change while they are trained on Ray: make the trainer with the"
                    " changed model"
                )
        for name, array in self.arrays.items():
            # Fetched arrays are read-only, which PyTorch refuses.
            _bits(tensors[name].detach()).copy_(torch.from_numpy(np.array(array)))

    def _check_arrays(self) -> None:
        came = {k: (x.shape, f"torch.{x.dtype}") for k, x in self.arrays.items()}
        for name in sorted({*self.signature, *came}):
            sent = self.signature.get(name, "nothing")
            if sent[1] == "torch.bfloat16":
                sent = sent[0], "torch.int16"
            if came.get(name, "nothing") != sent:
                raise SignatureError(
                    f"weights of version {self.version}: {name} was signed as {sent},"
                    f" and came as {came.get(name, 'nothing')}. The message is damaged:"
                    " go on from the newest checkpoint"
                )


@dataclass(frozen=True)
class Stored:
    """A model in Ray's object store: how to make it, and its newest weights.

    References are in lists, because Ray fetches others by itself.
    """

    recipe: list[Any]  # a reference to what `Store` was given
    weights: list[Any]  # a reference to `Weights`
    version: int  # of the weights
    run: int = 0  # number of the recipe
    seed: int = 0  # of the first episodes of the run
    actor: Any = None  # the inference actor for workers to ask, if they have no copy


class Store:
    """Puts a model into Ray's object store, and its weights once for each version.

    Sent are all tensors that are `learned`, now or earlier: receivers have the model as
    it is now. Of buffers of more than `LARGE` bytes, such as masks or quantized
    weights, only changed ones are sent.

    Args:
        cluster: The `Cluster` with the object store.
        model: The model that learns.
        recipe: What receivers make it of: a `Recipe`, or `Weights` of all its tensors.
        run: Number of the recipe; later ones have higher numbers.
        seed: Seed of the first episodes.

    Attributes:
        stored: What was sent last; None if there is none.
        megabytes: Size of its weights.
    """

    def __init__(
        self, cluster: Any, model: nn.Module, recipe: Any, run: int = 0, seed: int = 0
    ) -> None:
        self._cluster, self._model, self._run = cluster, model, (run, seed)
        self._recipe = [cluster.put(pickled(recipe))]
        self._names: set[str] = set()
        self._large = {
            name: (x, x._version)
            for name, x in model.named_buffers()
            if x.nbytes > LARGE
        }
        self.stored: Stored | None = None
        self.megabytes = 0.0

    def tensors(self) -> dict[str, Tensor]:
        """The tensors to send, by name. One that was sent once is always sent."""
        for name, x in learned(self._model).items():
            first, version = self._large.get(name, (None, 0))
            if first is not x or x._version != version:
                self._names.add(name)
        every = tensors_of(self._model).items()
        return {name: x.detach() for name, x in every if name in self._names}

    def put(self, version: int, *, again: bool = False) -> Stored:
        """The current weights as this version, in the object store.

        With `again`, weights that were sent with this version may have changed.
        """
        if self.stored is None or version != self.stored.version or again:
            tensors = self.tensors()
            self.megabytes = sum(x.nbytes for x in tensors.values()) / 1e6
            weights = [self._cluster.put(Weights.of(tensors, version))]
            self.stored = Stored(self._recipe, weights, version, *self._run)
        return self.stored


class AgentCopy:
    """An actor's own copy of an agent or algorithm: made, and updated, as it is sent.

    Args:
        changes: Fields of its config that are others here.

    Attributes:
        agent: The copy; None before the first `load`.
        sent: What it was loaded from last.
    """

    def __init__(self, **changes: Any) -> None:
        self.agent: Any = None
        self._changes = changes
        self.sent: Stored | None = None

    def is_newer(self, sent: Stored) -> bool:
        """Whether it is of a later run, or has newer weights, than what is here."""
        here = self.sent
        return here is None or (sent.run, sent.version) > (here.run, here.version)

    def lacks(self, sent: Stored) -> list[Any]:
        """References to what `load` needs: weights, and the recipe of another run."""
        if self.sent is None or sent.recipe != self.sent.recipe:
            return [*sent.weights, *sent.recipe]
        return [] if sent.weights == self.sent.weights else [*sent.weights]

    def load(
        self, sent: Stored, weights: Weights | None = None, recipe: bytes | None = None
    ) -> Any:
        """The agent, with weights and by a recipe that were fetched, if it lacked them.

        Raises:
            SignatureError: If the weights do not fit its model.
        """
        if recipe is not None:
            self.agent = pickle.loads(recipe).make(**self._changes)
        if weights is not None:
            weights.load(self.agent.model)
        self.agent.counters.policy_version = sent.version  # restored, it may be older
        self.sent = sent
        return self.agent

    def fetch(self, sent: Stored) -> Any:
        """The agent as it was sent; waits for what it lacks, and raises as `load`."""
        return self.load(sent, *importlib.import_module("ray").get(self.lacks(sent)))


def learned(model: nn.Module) -> dict[str, Tensor]:
    """Tensors that learning changes: trained parameters and buffers, by name."""
    trained = {k: p.detach() for k, p in model.named_parameters() if p.requires_grad}
    return trained | dict(model.named_buffers())


def _bits(x: Tensor) -> Tensor:
    """The same memory in a dtype that NumPy knows."""
    return x.view(torch.int16) if x.dtype == torch.bfloat16 else x
