"""Products are told to libraries in another way, and are what they were."""

import pytest
import torch
from torch.nn import functional

from yieldrl.speed.graph import trace

aten = torch.ops.aten


def count(graph, target):
    return len(graph.operations.graph.find_nodes(op="call_function", target=target))


def check(function, tensors, rtol=1e-4):
    """A graph does what its function does; the graph."""
    graph = trace(function, tensors)
    (found,) = graph.operations(*tensors)
    (wanted,) = function(tensors)
    assert (found.dtype, found.stride()) == (wanted.dtype, wanted.stride())
    torch.testing.assert_close(found, wanted, rtol=rtol, atol=rtol)
    return graph


@pytest.mark.parametrize(
    ("rows", "inner", "columns", "turned"),
    [
        (64, 8192, 4, True),  # the gradient of a first layer's weights
        (256, 256, 4, True),
        (8192, 64, 4, True),  # the gradient of its inputs
        (64, 8192, 17, False),  # not narrow
        (4, 8192, 4, False),  # no wider the other way round
        (512, 4096, 3, True),  # too large to be written out
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

    graph = check(function, tensors)
    (product,) = graph.operations.graph.find_nodes(
        op="call_function", target=aten.mm.default
    )
    (left,) = product.args[0].all_input_nodes
    assert (left.name == "given_1") == turned


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("rows", "terms", "columns", "written_out"),
    [
        (512, 64, 1, True),  # a head for a value,
        (512, 1, 64, True),  # the gradient of its inputs,
        (1, 512, 64, True),  # and of its weights
        (512, 64, 3, True),
        (512, 3, 64, True),
        (3, 512, 64, True),
        (512, 64, 4, False),
        (64, 64, 64, False),
    ],
)
def test_a_product_with_a_side_of_few_numbers_is_written_out(
    dtype, rows, terms, columns, written_out
):
    torch.manual_seed(0)
    first, second = torch.randn(rows, terms), torch.randn(terms, columns)
    tensors = [first.to(dtype), second.to(dtype)]
    rtol = 1e-4 if dtype == torch.float32 else 2**-7
    graph = check(lambda given: [torch.mm(*given)], tensors, rtol)
    assert (count(graph, aten.mm.default) == 0) == written_out


@pytest.mark.parametrize("columns", [1, 64])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_bias_of_short_floats_is_added_to_the_product(dtype, columns):
    torch.manual_seed(0)
    shapes = [columns], [32, 64], [64, columns]
    tensors = [torch.randn(shape).to(dtype) for shape in shapes]
    rtol = 1e-4 if dtype == torch.float32 else 2**-6
    graph = check(lambda given: [torch.addmm(*given)], tensors, rtol)
    assert count(graph, aten.addmm.default) == (dtype == torch.float32)


def test_a_bias_may_be_scaled():
    tensors = [torch.ones(n).bfloat16() for n in ([4], [4, 4], [4, 4])]
    graph = check(lambda given: [torch.addmm(*given, beta=2, alpha=3)], tensors)
    assert count(graph, aten.addmm.default) == 1


IMAGE, KERNEL, BIAS = (5, 4, 10, 8), (16, 4, 3, 2), (16,)


def random_tensors(dtype, *shapes):
    torch.manual_seed(0)
    image, *rest = [torch.randn(shape).to(dtype) for shape in shapes]
    return [image.contiguous(memory_format=torch.channels_last), *rest]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_convolution_over_few_channels_is_a_product_of_what_it_sees(dtype):
    tensors = random_tensors(dtype, IMAGE, KERNEL, BIAS)
    rtol = 1e-4 if dtype == torch.float32 else 2**-6
    graph = check(lambda given: [functional.conv2d(*given)], tensors, rtol)
    assert count(graph, aten.convolution.default) == 0
    assert count(graph, aten.mm.default) == 1


@pytest.mark.parametrize(
    "options", [{"stride": 2}, {"padding": 1}, {"dilation": 2}, {"groups": 2}]
)
def test_other_convolutions_stay_as_they_are(options):
    kernel = (16, 4 // options.get("groups", 1), 3, 2)
    tensors = random_tensors(torch.float32, IMAGE, kernel, BIAS)
    graph = check(lambda given: [functional.conv2d(*given, **options)], tensors)
    assert count(graph, aten.convolution.default) == 1


def test_so_do_those_of_other_layouts_those_without_bias_and_large_ones():
    tensors = random_tensors(torch.float32, IMAGE, KERNEL, BIAS)
    rows = [tensors[0].contiguous(), *tensors[1:]]
    large = random_tensors(torch.float32, (5, 8, 10, 8), (16, 8, 3, 3), BIAS)
    for given in (rows, tensors[:2], large):
        graph = check(lambda x: [functional.conv2d(*x)], given)
        assert count(graph, aten.convolution.default) == 1


def test_so_do_those_of_a_part_of_a_batch_that_begins_later():
    """PyTorch's compiler would stride from the beginning of its memory."""
    tensors = random_tensors(torch.float32, IMAGE, KERNEL, BIAS)
    for begin, convolutions in ((0, 0), (2, 1)):
        graph = check(
            lambda x, at=begin: [functional.conv2d(x[0][at:], *x[1:])], tensors
        )
        assert count(graph, aten.convolution.default) == convolutions


def test_gradients_of_an_unfolded_convolution_are_those_of_the_convolution():
    def gradients(given):
        leaves = [x.detach().requires_grad_() for x in given]
        with torch.enable_grad():
            found = functional.conv2d(*leaves).relu().square().sum()
        return [x.flatten() for x in torch.autograd.grad(found, leaves)]

    tensors = random_tensors(torch.float32, IMAGE, KERNEL, BIAS)
    graph = trace(gradients, tensors)
    assert count(graph, aten.convolution.default) == 0
    found = graph.operations(*tensors)
    torch.testing.assert_close(found, gradients(tensors), rtol=1e-4, atol=1e-4)
