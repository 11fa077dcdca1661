"""The newest weights, in the object store for the actors that act."""

from typing import Any

from yieldrl.distributed.pool import WorkerPool
from yieldrl.distributed.weights import Signature, Travelling, packed


class NewestWeights:
    """Signature and arrays of the weights to send, made once per version.

    Args:
        pool: The pool of the actors that act.
        model: The model, as these have it now.

    Attributes:
        megabytes: Size of the newest version.
    """

    def __init__(self, pool: WorkerPool, model: Any) -> None:
        self._pool, self._travelling = pool, Travelling(model)
        self._signature: Signature | None = None
        self._sent: list[int | None] = [None] * pool.count  # the version of each worker
        self._arrays: Any = None
        self.megabytes = 0.0

    def version_or(self, version: int) -> int:
        """The version that was made last; this one if there is none."""
        return version if self._signature is None else self._signature.version

    def told(self, index: int, version: int) -> tuple[Any, ...]:
        """Arguments with new weights for a worker's `collect`; () if it has them."""
        newest, inference = self(index, version), self._pool.inference
        if inference.count:
            return None, None, inference.asked_by(index, newest)
        known, self._sent[index] = self._sent[index] == version, version
        return () if known else newest

    def forget(self, index: int) -> None:
        """Note that a worker was started again, without these weights."""
        self._sent[index] = None

    def __call__(self, index: int, version: int) -> tuple[Signature, Any]:
        """The signature, and weights in the object store, if they are still needed."""
        inference, signature = self._pool.inference, self._signature
        if signature is None or signature.version != version:
            tensors = self._travelling()
            self.megabytes = sum(x.nbytes for x in tensors.values()) / 1e6
            signature, self._arrays = Signature.of(tensors, version), None
            inference.broadcast(signature, tensors)
            self._signature = signature
        if self._arrays is None and not inference.has(index, version):
            self._arrays = self._pool.cluster.put(packed(self._travelling()))
        return signature, self._arrays
