"""Writes down the operations on tensors that a function takes while it is called.

PyTorch's own tracers know more, and import the front end of its compiler for it, which
takes longer than following a function takes here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, fx
from torch.utils._python_dispatch import TorchDispatchMode

aten: Any = torch.ops.aten

ANEW = {
    aten.empty.memory_format: aten.new_empty.default,
    aten.zeros.default: aten.new_zeros.default,
    aten.ones.default: aten.new_ones.default,
    aten.full.default: aten.new_full.default,
}
"""What makes a tensor out of nothing, and out of another one. The former a compiler
takes for a constant, even where it is then written into."""


class StandIn(Tensor):
    """Stands for a tensor in a function that is followed, and hides its numbers.

    Attributes:
        hidden: The tensor.
        node: What computes it.
    """

    hidden: Tensor
    node: fx.Node

    __torch_function__ = torch._C._disabled_torch_function_impl  # pyright: ignore

    @staticmethod
    def __new__(cls, hidden: Tensor, node: fx.Node) -> StandIn:
        make: Any = Tensor._make_wrapper_subclass  # pyright: ignore
        made = make(
            cls,
            hidden.shape,
            strides=hidden.stride(),
            storage_offset=hidden.storage_offset(),
            dtype=hidden.dtype,
            device=hidden.device,
        )
        made.hidden, made.node = hidden, node
        node.meta |= {
            "shape": hidden.shape,
            "strides": hidden.stride(),
            "offset": hidden.storage_offset(),
            "dtype": hidden.dtype,
            "on_cpu": hidden.is_cpu,
        }
        return made

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        raise RuntimeError(f"{func} of a tensor that stood in for another")


class Recorder(TorchDispatchMode):
    """Records the operations that are taken while it is active.

    They are taken, too, on copies of the tensors that the function is given. What
    other processes would have to take part in is only written down.

    Args:
        tensors: What the function is given.

    Attributes:
        graph: The operations.
        given: What to call the function with.
        captured: Tensors that the function was not given but used. They follow those
            that it was given.

    Raises:
        RuntimeError: If the function looks at numbers to choose what to do, or writes
            into what it was not given.
    """

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        super().__init__()
        self.graph = fx.Graph()
        self.given = [
            StandIn(copied(tensor), self.graph.placeholder(f"given_{i}"))
            for i, tensor in enumerate(tensors)
        ]
        self.captured: list[Tensor] = []
        self._captured: dict[int, StandIn] = {}
        self._last = self.given[-1].node

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """PyTorch would import its front end to tell it to pass over this class."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if torch.Tag.data_dependent_output in func.tags and not _stands_in(args):
            return func(*args, **kwargs)  # a number that is the same in all calls
        if func is aten.lift_fresh.default:  # a constant, which may be written into
            func = aten.clone.default
        elif func in ANEW and kwargs.get("memory_format") is None:
            made = func(*args, **kwargs)
            func, args = ANEW[func], (self.given[0], *args)
            kwargs = {**kwargs, "dtype": made.dtype, "device": made.device}
        args, kwargs = _mapped(self._stand_in, (args, kwargs))
        _check(func, args)
        self._check_writing(func, args, kwargs)
        node = self.graph.call_function(func, *_mapped(_node, (args, kwargs)))
        found = _take(func, *_mapped(_real, (args, kwargs)))
        if not isinstance(found, tuple | list):
            return self._result(found, node, args)
        get = operator.getitem
        return type(found)(
            self._result(x, self.graph.call_function(get, (node, i)), args)
            for i, x in enumerate(found)
        )

    def end(self, found: Sequence[Tensor]) -> None:
        """Let the graph return what the function did."""
        if others := [x for x in found if not isinstance(x, Tensor)]:
            raise RuntimeError(f"it returns {others[0]!r}, which is no tensor")
        self.graph.output([self._stand_in(x).node for x in found])

    def _result(self, found: Any, node: fx.Node, args: Any) -> Any:
        """What stands for a result: for a tensor that was written into, what did."""
        if not isinstance(found, Tensor):
            return found
        same = [x for x in _leaves(args) if _real(x) is found]
        return same[0] if same else StandIn(found, node)

    def _stand_in(self, x: Any) -> Any:
        """What stands for a tensor that the function was given, or was not."""
        if not isinstance(x, Tensor) or isinstance(x, StandIn):
            return x
        if id(x) not in self._captured:
            with self.graph.inserting_after(self._last):
                self._last = self.graph.placeholder(f"captured_{len(self.captured)}")
            self.captured.append(x)
            self._captured[id(x)] = StandIn(x.detach(), self._last)
        return self._captured[id(x)]

    def _check_writing(self, func: Any, args: Any, kwargs: Any) -> None:
        """Refuse to write into what was not given."""
        if not func._schema.is_mutable:
            return
        arguments = func._schema.arguments
        named = dict(zip((x.name for x in arguments), args, strict=False)) | kwargs
        own = {_place(x) for x in self.captured}
        for argument in arguments:
            if argument.alias_info is None or not argument.alias_info.is_write:
                continue
            for x in _leaves(named.get(argument.name)):
                if isinstance(x, StandIn) and _place(x.hidden) in own:
                    raise RuntimeError(
                        f"{func} writes into a tensor that the function was not given"
                    )


def copied(x: Tensor) -> Tensor:
    """A copy with the same strides, gaps and repetitions included."""
    pairs = zip(x.shape, x.stride(), strict=True)
    extent = 1 + sum((size - 1) * stride for size, stride in pairs)
    if x.numel() == 0:
        return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device)
    whole = x.detach().as_strided((extent,), (1,)).clone()
    return whole.as_strided(x.shape, x.stride(), 0)


def _mapped(function: Callable[[Any], Any], x: Any) -> Any:
    """Arguments, with a function applied to what is no tuple, list or dict of them."""
    if isinstance(x, tuple | list):
        return type(x)([_mapped(function, part) for part in x])
    if isinstance(x, dict):
        return {name: _mapped(function, part) for name, part in x.items()}
    return function(x)


def _leaves(x: Any) -> Iterator[Any]:
    """Those to which a function would be applied."""
    if isinstance(x, dict):
        x = x.values()
    elif not isinstance(x, tuple | list):
        yield x
        return
    for part in x:
        yield from _leaves(part)


def _check(func: Any, args: Any) -> None:
    """Refuse an operation that cannot be one of a graph."""
    shapes = torch.Tag.dynamic_output_shape in func.tags
    if func is aten.index.Tensor:  # by numbers of places, or by masks
        shapes = any(_is_mask(x) for x in args[1])
    if shapes or torch.Tag.data_dependent_output in func.tags:
        raise RuntimeError(f"{func} looks at the numbers of a tensor")
    if torch.Tag.inplace_view in func.tags:
        raise RuntimeError(f"{func} gives a tensor another shape")


def _is_mask(x: Any) -> bool:
    return isinstance(x, Tensor) and x.dtype in (torch.bool, torch.uint8)


def _place(x: Tensor) -> int:
    """Where the memory begins that a tensor may share with others."""
    return x.untyped_storage().data_ptr()


def _take(func: Any, args: Any, kwargs: Any) -> Any:
    """What an operation answers; what processes exchange, without the others."""
    if func.namespace == "_c10d_functional":
        return args[0].clone()
    return func(*args, **kwargs)


def _stands_in(args: Any) -> bool:
    """Whether there is a tensor among arguments that the function was given, or made
    of what it was given."""
    return any(isinstance(x, StandIn) for x in _leaves(args))


def _node(x: Any) -> Any:
    return x.node if isinstance(x, StandIn) else x


def _real(x: Any) -> Any:
    return x.hidden if isinstance(x, StandIn) else x
