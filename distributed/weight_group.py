"""Send weights over a gloo process group, instead of Ray's object store."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor, distributed, nn

from yieldrl.distributed.weights import Signature, SignatureError, named_by, tensors_of

c10d: Any = distributed  # its types are not declared

SECONDS = 15.0
"""Seconds that a member may take until the group is given up."""

SAID = 1024  # bytes that members exchange before tensors
DIGEST = 32  # bytes of the signature among them


@dataclass(frozen=True)
class Seat:
    """The place of a process in a group.

    Attributes:
        host: Host of the sender's `TCPStore`.
        port: Port of that store.
        name: Name of the group, unique in this store.
        rank: Rank of the process; 0 is the sender.
        size: Number of members.
    """

    host: str
    port: int
    name: str
    rank: int
    size: int


class WeightGroup:
    """One end of a group: rank 0 sends, all others receive.

    Args:
        seat: The place of this process.
        store: The sender's store; receivers connect to it.
        seconds: How long a member may take.

    Raises:
        RuntimeError: If not all members come, or later one leaves or takes too long.
    """

    def __init__(self, seat: Seat, store: Any = None, seconds: float = SECONDS) -> None:
        self.seat, timeout = seat, timedelta(seconds=seconds)
        if store is None:
            where = seat.host, seat.port
            store = c10d.TCPStore(*where, is_master=False, timeout=timeout)
        parts = c10d.PrefixStore(seat.name, store), seat.rank, seat.size, timeout
        self._group = c10d.ProcessGroupGloo(*parts)

    def send(self, tensors: Mapping[str, Tensor], signature: Signature) -> None:
        """Send tensors to all receivers.

        Raises:
            SignatureError: In all members, before any tensor is sent, if a receiver has
                other tensors.
        """
        self._agree(signature, "")
        for name in sorted(tensors):
            self._broadcast(tensors[name].detach().cpu().contiguous())

    @torch.no_grad()
    def receive(self, model: nn.Module, signature: Signature) -> None:
        """Receive tensors into a model, once all have come.

        Raises:
            SignatureError: As `send`.
        """
        own, problem = {}, ""
        try:
            own = named_by(signature, tensors_of(model))
        except SignatureError as error:
            problem = str(error)
        self._agree(signature, problem)
        here = {name: torch.empty(x.shape, dtype=x.dtype) for name, x in own.items()}
        for name in sorted(here):
            self._broadcast(here[name])
        for name, x in own.items():
            x.copy_(here[name])

    def _agree(self, signature: Signature, problem: str) -> None:
        """Raise the problem of any member in all of them."""
        own = bytes.fromhex(signature.digest)
        said = (own + problem.encode()[: SAID - DIGEST]).ljust(SAID, b"\0")
        all_said = [torch.empty(SAID, dtype=torch.uint8) for _ in range(self.seat.size)]
        mine = torch.frombuffer(bytearray(said), dtype=torch.uint8)
        self._group.allgather([all_said], [mine]).wait()
        for rank, row in enumerate(all_said):
            digest, text = bytes(row[:DIGEST].numpy()), bytes(row[DIGEST:].numpy())
            if found := text.rstrip(b"\0").decode(errors="ignore"):
                raise SignatureError(f"receiver {rank - 1} of weights: {found}")
            if digest != own:
                raise SignatureError(
                    f"rank {rank} of {self.seat.name} goes by other weights than"
                    f" version {signature.version}, which rank {self.seat.rank} has"
                )

    def _broadcast(self, x: Tensor) -> None:
        if x.numel():
            self._group.broadcast(x.view(-1).view(torch.uint8), 0).wait()


class WeightSender:
    """Makes groups of a sender and its receivers: a new one after a failure.

    Args:
        host: Address at which receivers reach this process.
        seconds: How long a member may take.

    Attributes:
        number: Number of groups so far.
    """

    def __init__(self, host: str, seconds: float = SECONDS) -> None:
        self.host, self.seconds, self.number = host, seconds, 0
        self._members: tuple[Any, ...] = ()
        self._group: WeightGroup | None = None
        options = {"wait_for_workers": False, "timeout": timedelta(seconds=seconds)}
        self._store = c10d.TCPStore(host, 0, is_master=True, **options)

    def seats(self, members: tuple[Any, ...]) -> list[Seat]:
        """The seats of receivers; `members` identify them."""
        if members != self._members or self._group is None:
            self.number, self._members, self._group = self.number + 1, members, None
        return [self._seat(rank + 1) for rank in range(len(members))]

    def knows(self, members: tuple[Any, ...]) -> bool:
        """Whether there is a group of these members already."""
        return self._group is not None and members == self._members

    def send(self, tensors: Mapping[str, Tensor], signature: Signature) -> None:
        """Send to the receivers that have taken their seats.

        Raises:
            SignatureError: If a receiver has other tensors.
            RuntimeError: If a member is gone; the next seats are of another group.
        """
        group, self._group = self._group, None  # restored after success
        if group is None:
            group = WeightGroup(self._seat(0), self._store, self.seconds)
        group.send(tensors, signature)
        self._group = group

    def _seat(self, rank: int) -> Seat:
        name = f"weights {self.number}"
        return Seat(self.host, self._store.port, name, rank, len(self._members) + 1)
