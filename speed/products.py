"""Products of matrices are put into the form in which they take least time.

Libraries of linear algebra are made for large matrices. What is narrow or small is told
to them in another way here, or computed without them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

NARROW = 12
"""Numbers in a row, at most: fewer than the widest registers of processors hold."""

FEW = 3
"""Of as few rows, columns or terms a product is a sum that is written out."""

MOST = 2**20
"""Multiplications of a sum that is written out, at most."""

SMALL = 56
"""Numbers that a convolution multiplies at a place, at most, to be unfolded."""

ALONE = [1, 1], [0, 0], [1, 1], False, [0, 0], 1
"""Stride, padding, dilation and so on of a convolution that is nothing but one."""

aten: Any = torch.ops.aten


def improve_products(graph: fx.Graph) -> None:
    """Rewrite what a `Recorder` wrote down."""
    for target, improve in (
        (aten.addmm.default, add_bias_afterwards),
        (aten.mm.default, write_out),
        (aten.mm.default, turn),
        (aten.convolution.default, unfold),
    ):
        for node in graph.find_nodes(op="call_function", target=target):
            improve(node)


def add_bias_afterwards(node: Any) -> None:
    """A bias is not copied to where the product of short floats is then added to it.

    oneDNN has it so, which takes longer than adding it to the result, where whatever
    follows is compiled with it. It is added as a float32, or a compiler would make one
    operation of the two again.
    """
    if not node.meta["on_cpu"] or not _is_short(node) or node.kwargs:
        return
    bias, first, second = node.args
    call = node.graph.call_function
    with node.graph.inserting_before(node):
        product = call(aten.mm.default, (first, second))
        product.meta = dict(node.meta)
        result = call(aten.add.Tensor, (_wide(product, node), bias))
        _replace(node, _as_before(result, node))


def write_out(node: Any) -> None:
    """A product with a side of one, two or three is written out, if it is not large.

    A head for a value or a few actions is one, and so are its gradients. Finding out
    how to multiply takes a library longer than multiplying, in bfloat16 20 microseconds
    for one; and what is written out is compiled together with its neighbours.
    """
    first, second = node.args
    (rows, terms), columns = first.meta["shape"], node.meta["shape"][1]
    size = rows * terms * columns
    if not node.meta["on_cpu"] or size > MOST or min(rows, terms, columns) > FEW:
        return
    call, unsqueeze = node.graph.call_function, aten.unsqueeze.default
    with node.graph.inserting_before(node):
        if columns <= FEW:  # the terms lie side by side
            pair = (first, 1), (call(aten.t.default, (second,)), 0)
            over = 2
        else:
            pair = (first, 2), (second, 0)
            over = 1
        sides = (call(unsqueeze, side) for side in pair)
        product = call(aten.mul.Tensor, tuple(_wide(side, node) for side in sides))
        result = call(aten.sum.dim_IntList, (product, [over]))
        _replace(node, _as_before(result, node))


def turn(node: Any) -> None:
    """A product with narrow rows is computed as its transpose.

    The gradient of a first layer's weights is one: observations of four numbers and a
    layer of 64 give `[64, B] x [B, 4]`, and so is the gradient of its inputs. Libraries
    work along rows of the result; as `[4, B] x [B, 64]` the same product takes a
    seventh of the time (MKL on AMD, B = 8192), and that of the inputs, copied back into
    order, a third.
    """
    rows, columns = node.meta["shape"]
    if not columns <= NARROW < rows:
        return
    first, second = node.args
    call = node.graph.call_function
    with node.graph.inserting_before(node):
        turned = tuple(call(aten.t.default, (x,)) for x in (second, first))
        product = call(aten.t.default, (call(aten.mm.default, turned),))
        _replace(node, _in_order(product))  # as the node's result is


def unfold(node: Any) -> None:
    """A convolution over few channels becomes a product of matrices.

    oneDNN takes the places of a kernel one by one, and with four channels spends more
    time on finding its way than on multiplying. Here what the kernel sees is copied
    into rows; with 3 x 3 places and four channels, the copy and the product take half
    as long (boards of MinAtar, bfloat16). With seven channels nothing is gained.
    Gradients are computed as before.
    """
    image, kernel, bias, *options = node.args
    (batch, channels, height, width), found = image.meta["shape"], node.meta["shape"]
    kernels, _, *window = kernel.meta["shape"]
    size = channels * window[0] * window[1]
    strides = (height * width * channels, 1, width * channels, channels)
    if not (
        node.meta["on_cpu"]
        and size <= SMALL
        and bias is not None
        and tuple(options) == ALONE
        and image.meta["strides"] == strides  # channels lie side by side
        and image.meta["offset"] == 0  # which a compiler would take for granted
    ):
        return
    call = node.graph.call_function
    rows = batch, *found[2:], window[0], window[1] * channels
    row_strides = strides[0], strides[2], strides[3], strides[2], 1
    with node.graph.inserting_before(node):
        seen = _in_order(call(aten.as_strided.default, (image, rows, row_strides)))
        seen = call(aten.view.default, (seen, [-1, size]))
        matrix = _in_order(call(aten.permute.default, (kernel, [2, 3, 1, 0])))
        matrix = call(aten.view.default, (matrix, [size, kernels]))
        product = call(aten.mm.default, (seen, matrix))
        product = call(aten.view.default, (product, [batch, -1]))
        # The bias in long rows; behind strides no compiler takes it to pieces again.
        places = found[2] * found[3]
        long = _in_order(
            call(aten.expand.default, (_wide(bias, node), [places, kernels]))
        )
        long = call(aten.as_strided.default, (long, [places * kernels], [1]))
        result = call(aten.add.Tensor, (_wide(product, node), long))
        result = call(
            aten.view.default, (_as_before(result, node), [batch, *found[2:], kernels])
        )
        _replace(node, call(aten.permute.default, (result, [0, 3, 1, 2])))


def _is_short(node: Any) -> bool:
    return node.meta["dtype"] in (torch.bfloat16, torch.float16)


def _wide(x: Any, node: Any) -> Any:
    """What short floats are computed as: float32, rounded at the end alone."""
    return _converted(x, torch.float32) if _is_short(node) else x


def _as_before(x: Any, node: Any) -> Any:
    """A result in the dtype of what it replaces."""
    return _converted(x, node.meta["dtype"]) if _is_short(node) else x


def _converted(x: Any, dtype: torch.dtype) -> Any:
    return x.graph.call_function(aten._to_copy.default, (x,), {"dtype": dtype})


def _in_order(x: Any) -> Any:
    """A copy whose numbers lie in memory one after the other."""
    whole = {"memory_format": torch.contiguous_format}
    return x.graph.call_function(aten.clone.default, (x,), whole)


def _replace(node: Any, result: Any) -> None:
    result.meta = dict(node.meta)
    node.replace_all_uses_with(result)
    node.graph.erase_node(node)
