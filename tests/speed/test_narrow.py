"""Narrow products are turned, and are what they were."""

import pytest
import torch

from yieldrl.speed.graph import trace

PRODUCT = torch.ops.aten.mm.default


@pytest.mark.parametrize(
    ("rows", "inner", "columns", "turned"),
    [
        (64, 8192, 4, True),  # the gradient of a first layer's weights
        (256, 256, 3, True),
        (64, 128, 1, True),
        (8192, 64, 4, True),  # the gradient of its inputs
        (64, 8192, 17, False),  # not narrow
        (4, 8192, 4, False),  # no wider the other way round
    ],
)
def test_the_gradient_of_a_first_layer_is_computed_along_its_longer_side(
    rows, inner, columns, turned
):
    torch.manual_seed(0)
    tensors = [torch.randn(inner, rows), torch.randn(inner, columns)]
    if rows > inner:
        tensors[0] = torch.randn(rows, inner).t()

    def function(given):
        return [torch.mm(given[0].t(), given[1]).view(-1)]  # refuses another layout

    graph = trace(function, tensors)
    (found,) = graph.operations(*tensors)
    (wanted,) = function(tensors)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)
    (product,) = graph.operations.graph.find_nodes(op="call_function", target=PRODUCT)
    (left,) = product.args[0].all_input_nodes
    assert (left.name == "given_1") == turned
