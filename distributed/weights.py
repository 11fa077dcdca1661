"""Send weights to actors, with a signature that both sides check."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

Entry = tuple[str, tuple[int, ...], str]


LARGE = 1 << 16
"""Bytes; larger buffers are sent only if they have changed."""


class SignatureError(RuntimeError):
    """The sent tensors do not match those of the receiver."""


@dataclass(frozen=True)
class Signature:
    """The tensors of weights (names, shapes, dtypes), and their version.

    Attributes:
        version: The `policy_version`.
        entries: (name, shape, dtype) of each tensor, sorted by name.
        digest: SHA-256 of both.
    """

    version: int
    entries: tuple[Entry, ...]
    digest: str

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor], version: int) -> Signature:
        """The signature of tensors by name.

        >>> Signature.of({"bias": torch.zeros(2)}, 3).entries
        (('bias', (2,), 'torch.float32'),)
        """
        entries = tuple(
            (name, tuple(tensors[name].shape), str(tensors[name].dtype))
            for name in sorted(tensors)
        )
        digest = hashlib.sha256(repr((version, entries)).encode()).hexdigest()
        return cls(version, entries, digest)

    def check(self, other: Signature) -> None:
        """Compare with the signature of the receiver of these weights.

        Raises:
            SignatureError: If they differ; it names the first tensor that does.
        """
        if self.digest == other.digest:
            return
        own, others = ({e[0]: e[1:] for e in s.entries} for s in (self, other))
        for name in sorted(own.keys() | others.keys()):
            sent, there = own.get(name, "nothing"), others.get(name, "nothing")
            if sent != there:
                raise SignatureError(
                    f"weights of version {self.version}: {name} was sent as {sent},"
                    f" and the receiver has {there}. Models must not change while they"
                    " are trained on Ray: make the trainer with the changed model"
                )
        raise SignatureError(
            f"weights of version {self.version} came in place of {other.version}"
        )


def learned(model: nn.Module) -> dict[str, Tensor]:
    """Tensors that learning changes: trained parameters and buffers, by name."""
    found = {k: p.detach() for k, p in model.named_parameters() if p.requires_grad}
    return found | dict(model.named_buffers())


class Travelling:
    """The tensors that must be sent to receivers that have the model as it is now.

    These are all tensors that are `learned`, now or earlier; but of buffers of more
    than `LARGE` bytes, such as masks or quantized weights, only changed ones.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model, self._names = model, set[str]()
        large = (each for each in model.named_buffers() if each[1].nbytes > LARGE)
        self._first = {name: _digest(x) for name, x in large}

    def __call__(self) -> dict[str, Tensor]:
        """The tensors by name. A tensor that was sent once is always sent."""
        first, model = self._first, self._model
        found = learned(model).items()
        self._names |= {k for k, x in found if k not in first or first[k] != _digest(x)}
        own = tensors_of(model).items()
        return {name: x.detach() for name, x in own if name in self._names}


def packed(tensors: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    """Tensors as arrays, which Ray sends without copying them several times."""
    return {name: _bits(x.detach().cpu()).numpy() for name, x in tensors.items()}


def checksum(tensors: Mapping[str, Tensor]) -> int:
    """A number that changes with any bit of the tensors or of their names."""
    found = 0
    for name, array in packed(tensors).items():
        found = zlib.crc32(array.tobytes(), zlib.crc32(name.encode(), found))
    return found


def tensors_of(model: nn.Module) -> dict[str, Tensor]:
    """All parameters and buffers by name."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


def named_by(signature: Signature, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The receiver's tensors that a signature names.

    Raises:
        SignatureError: If they do not match.
    """
    names = (name for name, *_ in signature.entries)
    there = {name: tensors[name].detach() for name in names if name in tensors}
    signature.check(Signature.of(there, signature.version))
    return there


def load(model: nn.Module, arrays: Mapping[str, Any], signature: Signature) -> None:
    """Copy weights that were `packed` into a model.

    Raises:
        SignatureError: If the model has other tensors by these names.
    """
    write(tensors_of(model), arrays, signature)


@torch.no_grad()
def write(
    tensors: Mapping[str, Tensor], arrays: Mapping[str, Any], signature: Signature
) -> None:
    """Copy weights that were `packed` into tensors of these names; as `load`."""
    there = named_by(signature, tensors)
    for name, array in arrays.items():
        # Fetched arrays are read-only, which PyTorch refuses.
        _bits(there[name]).copy_(torch.from_numpy(np.array(array)))


def _digest(x: Tensor) -> bytes:
    array = _bits(x.detach().cpu()).contiguous().numpy()
    return hashlib.sha256(array.data).digest()


def _bits(x: Tensor) -> Tensor:
    """The same memory in a dtype that NumPy knows."""
    return x.view(torch.int16) if x.dtype == torch.bfloat16 else x
