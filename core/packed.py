"""One copy a step from environments of NumPy arrays to a GPU, through pinned memory."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from yieldrl.core.trees import Path, flatten, nest

Layout = tuple[tuple[Path, tuple[int, ...], str], ...]  # paths, shapes and dtypes


class PackedCopy:
    """Copies nested arrays to a device side by side, in one copy that does not wait.

    A copy costs a launch and the way over the bus, however small it is. Two memories
    take turns: what a call returned is valid until the call after the next, if the host
    waits for the device in between, as it does for actions.

    Args:
        device: Where the tensors are wanted.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._memories: dict[Layout, list[Memory]] = {}

    def __call__(self, arrays: Mapping[str, Any]) -> Any:
        """The arrays, in nested mappings, as tensors of the same layout."""
        given = [(path, np.asarray(array)) for path, array in flatten(arrays)]
        layout = tuple((path, x.shape, x.dtype.str) for path, x in given)
        if layout not in self._memories:
            pair = [Memory(layout, self.device) for _ in range(2)]
            self._memories[layout] = pair
        memory, other = self._memories[layout]
        self._memories[layout] = [other, memory]
        for view, (_, array) in zip(memory.arrays, given, strict=True):
            view[...] = array
        memory.there.copy_(memory.here, non_blocking=True)
        return nest(zip((path for path, _ in given), memory.tensors, strict=True))


class Memory:
    """Bytes here and there, and the views of both that are arrays and tensors."""

    def __init__(self, layout: Layout, device: torch.device) -> None:
        kinds = [(shape, np.dtype(kind)) for _, shape, kind in layout]
        sizes = [math.prod(shape) * kind.itemsize for shape, kind in kinds]
        ends = np.cumsum([-(-size // 16) * 16 for size in sizes]).tolist()
        pinned = device.type == "cuda"
        self.here = torch.empty(ends[-1], dtype=torch.uint8, pin_memory=pinned)
        self.there = torch.empty_like(self.here, device=device)
        begins = [0, *ends[:-1]]
        whole = self.here.numpy()
        self.arrays, self.tensors = [], []
        for (shape, kind), begin, size in zip(kinds, begins, sizes, strict=True):
            part = slice(begin, begin + size)
            self.arrays.append(whole[part].view(kind).reshape(shape))
            dtype = torch.from_numpy(np.empty(0, kind)).dtype
            self.tensors.append(self.there[part].view(dtype).view(shape))
