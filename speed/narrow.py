"""Products of matrices with a narrow result are computed as their transpose.

The gradient of a first layer's weights is one: observations of four numbers and a
layer of 64 give `[64, B] x [B, 4]`, and so is the gradient of its inputs. Libraries of
linear algebra work along rows of the result; as `[4, B] x [B, 64]` the same product
takes a seventh of the time (MKL on AMD, B = 8192), and that of the inputs, copied back
into order, a third.
"""

from __future__ import annotations

from typing import Any

import torch

NARROW = 12
"""Numbers in a row, at most: fewer than the widest registers of processors hold."""


def turn_narrow_products(operations: Any) -> None:
    """Rewrite an `fx.GraphModule` so that narrow products are of the other order."""
    aten: Any = torch.ops.aten
    graph = operations.graph
    call = graph.call_function
    for node in graph.find_nodes(op="call_function", target=aten.mm.default):
        first, second = node.args
        rows, columns = node.meta["shape"]
        if not columns <= NARROW < rows:
            continue
        with graph.inserting_before(node):
            turned = [call(aten.t.default, (x,)) for x in (second, first)]
            product = call(aten.t.default, (call(aten.mm.default, tuple(turned)),))
            whole = {"memory_format": torch.contiguous_format}  # as the node's result
            result = call(aten.clone.default, (product,), whole)
        node.replace_all_uses_with(result)
        graph.erase_node(node)
    operations.recompile()
