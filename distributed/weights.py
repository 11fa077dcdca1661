"""Weights for other processes, with a signature that the receiver checks."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

LARGE = 1 << 16
"""Bytes; larger buffers are sent only if they have changed."""


class SignatureError(RuntimeError):
    """The sent tensors do not match those of the receiver."""


@dataclass(frozen=True)
class Signature:
    """The tensors of weights (names, shapes, dtypes), and their version."""

    version: int  # the `policy_version`, or the version of another model
    entries: dict[str, tuple[tuple[int, ...], str]]  # shape and dtype, by name

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor], version: int) -> Signature:
        """The signature of tensors by name.

        >>> Signature.of({"bias": torch.zeros(2)}, 3).entries
        {'bias': ((2,), 'torch.float32')}
        """
        entries = {k: (tuple(x.shape), str(x.dtype)) for k, x in tensors.items()}
        return cls(version, entries)

    def select(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The receiver's tensors that this signature names, detached.

        Raises:
            SignatureError: If they do not match.
        """
        selected = {k: tensors[k].detach() for k in self.entries if k in tensors}
        entries = Signature.of(selected, self.version).entries
        for name, sent in sorted(self.entries.items()):
            if sent != entries.get(name):
                raise SignatureError(
                    f"weights of version {self.version}: {name} was sent as {sent}, and"
                    f" the receiver has {entries.get(name, 'nothing')}. Models must not"
                    " change while they are trained on Ray: make the trainer with the"
                    " changed model"
                )
        return selected


@dataclass(frozen=True)
class Weights:
    """Weights of a model in one message: arrays, and their signature.

    Ray sends arrays without copying them several times, which it does with tensors.
    """

    signature: Signature
    arrays: dict[str, np.ndarray]  # by name; bfloat16 as int16, which NumPy knows

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor], version: int) -> Weights:
        """The message of tensors by name, on any device."""
        arrays = {name: _bits(x.detach().cpu()).numpy() for name, x in tensors.items()}
        return cls(Signature.of(tensors, version), arrays)

    def load(self, model: nn.Module) -> None:
        """Copy them into a model.

        Raises:
            SignatureError: If the model has other tensors by these names.
        """
        self.copy_to(tensors_of(model))

    @torch.no_grad()
    def copy_to(self, tensors: Mapping[str, Tensor]) -> None:
        """Copy them into tensors of these names; as `load`."""
        targets = self.signature.select(tensors)
        for name, array in self.arrays.items():
            # Fetched arrays are read-only, which PyTorch refuses.
            _bits(targets[name]).copy_(torch.from_numpy(np.array(array)))


@dataclass(frozen=True)
class StoredVersion:
    """A version of weights in Ray's object store, for a receiver that may have it."""

    version: int
    refs: list[Any]  # of the `Weights`; in a list Ray does not fetch it by itself

    def fetch(self) -> Weights:
        """The weights, from the object store."""
        return importlib.import_module("ray").get(self.refs[0])


class WeightStore:
    """Puts the weights of a model into Ray's object store, once for each version.

    Sent are all tensors that are `learned`, now or earlier: receivers have the model as
    it is now. Of buffers of more than `LARGE` bytes, such as masks or quantized
    weights, only changed ones are sent.

    Args:
        cluster: The `Cluster` with the object store.
        model: The model that learns.
        exact: Whether weights may also change without a new version, and are compared.

    Attributes:
        version: The version that was sent last; None if there is none.
        megabytes: Its size.
    """

    def __init__(self, cluster: Any, model: nn.Module, *, exact: bool = False) -> None:
        self._cluster, self._model, self._exact = cluster, model, exact
        self._names: set[str] = set()
        self._unchanged = {
            name: (x, x._version)
            for name, x in model.named_buffers()
            if x.nbytes > LARGE
        }
        self._key: tuple[int, int] | None = None  # version and checksum
        self._ref: Any = None
        self.version: int | None = None
        self.megabytes = 0.0

    def tensors(self) -> dict[str, Tensor]:
        """The tensors to send, by name. One that was sent once is always sent."""
        for name in learned(self._model):
            if name not in self._unchanged:
                self._names.add(name)
        buffers = dict(self._model.named_buffers())
        for name, (first, version) in self._unchanged.items():
            if buffers[name] is not first or first._version != version:
                self._names.add(name)
        every = tensors_of(self._model)
        sent = {name: x.detach() for name, x in every.items() if name in self._names}
        self.megabytes = sum(x.nbytes for x in sent.values()) / 1e6
        return sent

    def put(self, version: int) -> StoredVersion:
        """The current weights as this version, in the object store.

        Raises:
            StoreFullError: If there is no room for them.
        """
        if version != self.version or self._exact:
            tensors = self.tensors()
            key = version, checksum(tensors) if self._exact else 0
            if key != self._key:
                self._ref = self._cluster.put(Weights.of(tensors, version))
                self._key, self.version = key, version
        return StoredVersion(version, [self._ref])


def learned(model: nn.Module) -> dict[str, Tensor]:
    """Tensors that learning changes: trained parameters and buffers, by name."""
    trained = {k: p.detach() for k, p in model.named_parameters() if p.requires_grad}
    return trained | dict(model.named_buffers())


def tensors_of(model: nn.Module) -> dict[str, Tensor]:
    """All parameters and buffers by name."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


def checksum(tensors: Mapping[str, Tensor]) -> int:
    """A number that changes with any bit of the tensors or of their names."""
    total = 0
    for name, array in Weights.of(tensors, 0).arrays.items():
        total = zlib.crc32(array.tobytes(), zlib.crc32(name.encode(), total))
    return total


def _bits(x: Tensor) -> Tensor:
    """The same memory in a dtype that NumPy knows."""
    return x.view(torch.int16) if x.dtype == torch.bfloat16 else x
