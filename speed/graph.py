"""A function of tensors, written down as the operations that it takes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from yieldrl.speed.narrow import turn_narrow_products


@dataclass(frozen=True)
class Graph:
    """Operations on tensors: what a compiler takes, and what a library knows them by.

    Attributes:
        operations: An `fx.GraphModule`, from tensors to a list of tensors.
        layouts: Of each of the tensors that it takes, `captured` among them.
        captured: Tensors that the function was not given but used, those of a target
            network say. They are the last of its arguments, with the numbers that they
            have when it is called.
        key: What equal operations on equal layouts have in common, and no others.
    """

    operations: Any
    layouts: list[Layout]
    captured: list[Tensor]
    key: str


Layout = tuple[torch.Size, tuple[int, ...], torch.dtype, torch.device]
"""Shape, strides, dtype and device: what compiled code takes for granted."""

Function = Callable[[list[Tensor]], list[Tensor]]


def trace(
    function: Function, tensors: Sequence[Tensor], *, pure: bool = False
) -> Graph:
    """Follow a function once, on stand-ins without numbers.

    Only operations on tensors are written down. Whatever else the function looks at,
    it must find as it is now whenever its graph is called.

    Args:
        function: From tensors to tensors; it may write into those that it gets, and
            draw random numbers from PyTorch's global generator.
        tensors: Of the layouts that it is for. They stay as they are.
        pure: Whether to leave nothing that is made and then written into, which a
            compiler takes for a constant; not where gradients are asked for.

    Raises:
        Exception: What PyTorch says of a function that cannot be followed, because it
            looks at numbers to choose what to do, for one.
    """
    from torch.fx.experimental.proxy_tensor import make_fx  # slow to import

    def call(*given: Tensor) -> list[Tensor]:
        return function(list(given))

    def follow(call: Any) -> Any:
        options: Any = {"tracing_mode": "fake", "_allow_non_fake_inputs": True}
        with torch.inference_mode(mode=False), torch.no_grad():
            return make_fx(call, **options)(*tensors)  # what is captured is not fake

    operations: Any = None
    if pure:
        with suppress(RuntimeError):  # `x |= y`, for one, cannot be made pure
            operations = follow(torch.func.functionalize(call, remove="mutations"))
    if operations is None:
        operations = follow(call)
    turn_narrow_products(operations)
    captured = _pass_captured(operations)
    layouts = [layout(tensor) for tensor in (*tensors, *captured)]
    said = f"{operations.code}\n{layouts}"
    return Graph(
        operations, layouts, captured, hashlib.sha256(said.encode()).hexdigest()
    )


def layout(tensor: Tensor) -> Layout:
    """Shape, strides, dtype and device of a tensor."""
    return tensor.shape, tensor.stride(), tensor.dtype, tensor.device


def _pass_captured(operations: Any) -> list[Tensor]:
    """Make tensors that a graph holds its last arguments; those tensors."""
    graph = operations.graph
    last = [node for node in graph.nodes if node.op == "placeholder"][-1]
    captured: dict[int, tuple[Tensor, Any]] = {}
    names: set[str] = set()
    for node in [node for node in graph.nodes if node.op == "get_attr"]:
        names.add(node.target)
        tensor = getattr(operations, node.target)
        if id(tensor) not in captured:
            with graph.inserting_after(last):
                last = graph.placeholder(node.target)
            last.meta.update(node.meta)
            captured[id(tensor)] = tensor, last
        node.replace_all_uses_with(captured[id(tensor)][1])
        graph.erase_node(node)
    for name in names:
        delattr(operations, name)
    operations.recompile()
    return [tensor for tensor, _ in captured.values()]
