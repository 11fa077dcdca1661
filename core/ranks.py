"""Several processes that train one policy together, as `torchrun` starts them.

Each has its own environments and the same weights; only the first writes files.
"""

import atexit
import importlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed, nn

from yieldrl.core.seeding import derive_seed

Value = TypeVar("Value")

SMALL = 2**16
"""Up to this size tensors are gathered and summed: fewer messages than reducing."""


@dataclass(frozen=True)
class Ranks:
    """The rank of this process and the number of processes.

    Methods of tensors or values are collective: call them on every rank, in one order.
    """

    rank: int = 0
    count: int = 1
    group: str = ""  # PyTorch's name of the group of all processes

    @property
    def first(self) -> bool:
        """Whether this is rank 0, which writes files and prints."""
        return self.rank == 0

    def all_reduce_sum(self, x: Tensor) -> Tensor:
        """The sum of all processes' tensors, of equal shape; can be compiled."""
        if self.count == 1:
            return x
        if x.numel() * self.count <= SMALL:
            return self.all_gather(x).sum(0)
        operations: Any = torch.ops._c10d_functional
        result = operations.all_reduce(x.contiguous(), "sum", self.group)
        return operations.wait_tensor(result)

    def all_gather(self, x: Tensor) -> Tensor:
        """All processes' tensors, `[count, ...]`, in the order of their ranks."""
        if self.count == 1:
            return x.unsqueeze(0)
        operations: Any = torch.ops._c10d_functional
        flat = x.contiguous().view(-1)
        result = operations.all_gather_into_tensor(flat, self.count, self.group)
        return operations.wait_tensor(result).view(self.count, *x.shape)

    def broadcast_module(self, module: nn.Module) -> None:
        """Copy rank 0's floating-point parameters and buffers to all ranks."""
        if self.count == 1:
            return
        tensors = (*module.parameters(), *module.buffers())
        leaves = [x.detach() for x in tensors if x.is_floating_point()]
        flat = torch.cat([x.flatten().double() for x in leaves])
        shared = self.all_reduce_sum(flat if self.first else torch.zeros_like(flat))
        sizes = [x.numel() for x in leaves]
        for x, numbers in zip(leaves, shared.split(sizes), strict=True):
            x.copy_(numbers.view(x.shape))

    def broadcast_object(self, value: Value) -> Value:
        """Rank 0's value, on all ranks; any value that can be pickled."""
        if self.count == 1:
            return value
        box = [value]
        distributed.broadcast_object_list(box, src=0)
        return box[0]

    def agree(self, facts: Mapping[str, Any]) -> None:
        """ValueError, on every rank, if a fact differs from that of rank 0."""
        if self.count == 1:
            return
        every: list[Any] = [None] * self.count
        distributed.all_gather_object(every, dict(facts))
        if (problem := difference(every)) is not None:
            raise ValueError(problem)

    def derive_seed(self, seed: int, purpose: str) -> int:
        """`derive_seed`, with a different result on each rank."""
        return derive_seed(seed, purpose if self.first else f"{purpose} {self.rank}")


def difference(every: Sequence[Mapping[str, Any]]) -> str | None:
    """The first difference between processes, as a sentence; None without one."""
    for name in dict.fromkeys(name for facts in every for name in facts):
        first, *others = (facts.get(name, "not there") for facts in every)
        for rank, other in enumerate(others, 1):
            if first != other:
                return (
                    f"{len(every)} processes that train together differ in {name}: it"
                    f" is {first!r} in process 0 and {other!r} in process {rank}. Start"
                    " them all with the same program, files and options"
                )
    return None


_joined: Ranks | None = None


def ranks() -> Ranks:
    """The ranks of this process; the first call joins the other processes."""
    global _joined
    if _joined is None:
        _joined = _join()
    return _joined


def _join() -> Ranks:
    """Join the other processes, if `torchrun`'s environment variables are set.

    On GPUs each uses that of its `LOCAL_RANK`, and the backend is NCCL, else Gloo.
    """
    if distributed.is_available() and distributed.is_initialized():
        return _all_of_them()
    started = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"} <= os.environ.keys()
    if not started or os.environ["WORLD_SIZE"] == "1":
        return Ranks()
    backend = "gloo"
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
        backend = "cpu:gloo,cuda:nccl"
    # Import now: if the compiler imported it later, its default arguments would keep
    # the group, and its threads would free tensors after the interpreter has ended.
    importlib.import_module("torch.distributed.nn")
    distributed.init_process_group(backend)
    atexit.register(distributed.destroy_process_group)
    return _all_of_them()


def _all_of_them() -> Ranks:
    # Use the name: code compiled for the group object would keep the group alive.
    group: Any = distributed.group.WORLD
    return Ranks(distributed.get_rank(), distributed.get_world_size(), group.group_name)


def standardized(advantage: Tensor) -> Tensor:
    """A minibatch's advantages `[B]`, of mean 0 and standard deviation 1.

    Mean and deviation are those of all processes together; one alone stays as it is.
    """
    count = ranks().count
    if len(advantage) * count < 2:
        return advantage
    mean, std = advantage.mean(), advantage.std()
    if count > 1:
        x = advantage.double()
        sums = torch.stack([torch.ones_like(x).sum(), x.sum(), x.square().sum()])
        size, first, second = ranks().all_reduce_sum(sums).unbind()
        mean = first / size
        std = ((second - size * mean.square()) / (size - 1)).clamp(min=0).sqrt()
    return ((advantage - mean) / (std + 1e-8)).to(advantage.dtype)


def mean_of_all(x: Tensor) -> Tensor:
    """The means of the numbers `x [..., N]` of all processes, `[...]`; 0 of none.

    Of equal numbers it is that number, to the bit.
    """
    wide = x.double()
    sums = torch.stack([wide.sum(-1), torch.ones_like(wide).sum(-1)])
    total, size = ranks().all_reduce_sum(sums).unbind()
    return (total / size.clamp(min=1)).float()
