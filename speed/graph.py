"""A function of tensors, written down as the operations that it takes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, fx

from yieldrl.speed.products import improve_products
from yieldrl.speed.recorder import Recorder


@dataclass(frozen=True)
class Graph:
    """Operations on tensors: what a compiler takes, and what a library knows them by.

    Attributes:
        written: The operations, one after the other.
        layouts: Of each of the tensors that it takes, `captured` among them.
        captured: Tensors that the function was not given but used, those of a target
            network say. They are the last of its arguments, with the numbers that they
            have when it is called.
        key: What equal operations on equal layouts have in common, and no others.
    """

    written: fx.Graph
    layouts: list[Layout]
    captured: list[Tensor]
    key: str

    @cached_property
    def operations(self) -> Any:
        """An `fx.GraphModule`, from tensors to a list of tensors.

        It is text that Python has to compile, which is for nothing where code is known.
        """
        return fx.GraphModule({}, self.written)


Layout = tuple[torch.Size, tuple[int, ...], torch.dtype, torch.device]
"""Shape, strides, dtype and device: what compiled code takes for granted."""

Function = Callable[[list[Tensor]], list[Tensor]]


def trace(function: Function, tensors: Sequence[Tensor]) -> Graph:
    """Follow a function once, on stand-ins without numbers.

    Only operations on tensors are written down. Whatever else the function looks at,
    it must find as it is now whenever its graph is called.

    Args:
        function: From tensors to tensors; it may write into those that it gets, and
            draw random numbers from PyTorch's global generator.
        tensors: Of the layouts that it is for. They stay as they are.

    Raises:
        RuntimeError: If it looks at numbers to choose what to do, or at anything else
            that no operation on tensors stands for.
    """
    devices = {x.device for x in tensors if x.device.type == "cuda"}
    drawn = torch.random.fork_rng([*devices])  # for nothing
    with torch.inference_mode(mode=False), torch.no_grad(), drawn:
        recorder = Recorder(tensors)
        with recorder:
            found = function([*recorder.given])
        recorder.end(found)
    graph, captured = recorder.graph, recorder.captured
    graph.eliminate_dead_code()
    improve_products(graph)
    layouts = [layout(tensor) for tensor in (*tensors, *captured)]
    said = f"{graph.python_code('self').src}\n{layouts}"
    return Graph(graph, layouts, captured, hashlib.sha256(said.encode()).hexdigest())


def layout(tensor: Tensor) -> Layout:
    """Shape, strides, dtype and device of a tensor."""
    return tensor.shape, tensor.stride(), tensor.dtype, tensor.device
