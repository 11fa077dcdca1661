"""What a function does to tensors is written down; what would go astray is refused."""

import subprocess
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from yieldrl.speed.graph import trace
from yieldrl.speed.recorder import copied


def do(graph, *tensors):
    return graph.operations(*tensors, *graph.captured)


@pytest.mark.parametrize(
    "look",
    [
        lambda x: x.sum().item(),
        lambda x: bool(x.sum() > 0),
        lambda x: x.tolist(),
        lambda x: x.numpy(),
        lambda x: torch.equal(x, x + 1),
        lambda x: x.nonzero(),
        lambda x: x[x > 0],
    ],
)
def test_who_looks_at_numbers_cannot_be_followed(look):
    def function(tensors):
        look(tensors[0])
        return [tensors[0] * 2]

    with pytest.raises(RuntimeError, match=r"looks at the numbers|not supported"):
        trace(function, [torch.ones(3)])


def test_numbers_of_what_it_was_not_given_are_those_of_now():
    number = torch.tensor(3)
    graph = trace(lambda given: [given[0] * int(number)], [torch.ones(1)])
    assert do(graph, torch.ones(1))[0].tolist() == [3.0]
    assert graph.captured == []


def test_places_are_no_look():
    places = torch.tensor([2, 0])
    graph = trace(lambda given: [given[0][places]], [torch.zeros(3)])
    assert do(graph, torch.tensor([1.0, 2.0, 3.0]))[0].tolist() == [3.0, 1.0]


@pytest.mark.parametrize(
    "write",
    [
        lambda own, given: own.add_(given),
        lambda own, given: own[:2].copy_(given[:2]),
        lambda own, given: own.view(3, 1).t().zero_(),
        lambda own, given: torch.add(given, given, out=own),
    ],
)
def test_what_was_not_given_is_not_written_into(write):
    own = torch.ones(3)

    def function(tensors):
        write(own, tensors[0])
        return [tensors[0]]

    with pytest.raises(RuntimeError, match="writes into a tensor that the function"):
        trace(function, [torch.zeros(3)])
    assert own.tolist() == [1.0, 1.0, 1.0]


def test_shapes_do_not_change_in_place():
    with pytest.raises(RuntimeError, match="gives a tensor another shape"):
        trace(lambda given: [(given[0] + 1).t_()], [torch.ones(2, 3)])


def test_it_returns_tensors():
    with pytest.raises(RuntimeError, match=r"returns 0\.5, which is no tensor"):
        trace(lambda given: [given[0], 0.5], [torch.ones(1)])


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.tensor([1.0, 1.0]),
        lambda: torch.ones(2),
        lambda: torch.full((2,), 1.0),
        lambda: torch.zeros(2) + 1,
        lambda: torch.empty(2).fill_(1),
    ],
)
def test_what_is_made_is_made_in_each_call(make):
    """By a compiler, too: it takes for a constant what comes from no argument."""

    def function(tensors):
        made = make()
        made.view(2, 1).t().add_(tensors[0])
        return [made]

    graph = trace(function, [torch.zeros(2)])
    for _ in range(2):
        assert do(graph, torch.tensor([1.0, 2.0]))[0].tolist() == [2.0, 3.0]
    tensors = (torch.zeros(2), *graph.captured)
    program = torch.export.export(graph.operations, tensors)
    assert program.constants == {}


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.ones(2, dtype=torch.float64),
        lambda: torch.zeros(2),
        lambda: torch.full((2,), 3),
        lambda: torch.full((2,), True),
        lambda: torch.full((2,), 0.5),
        lambda: torch.empty(2, dtype=torch.bool).fill_(False),
    ],
)
def test_what_is_made_keeps_its_dtype(make):
    graph = trace(lambda given: [make()], [torch.ones(2, dtype=torch.int32)])
    (found,) = do(graph, torch.ones(2, dtype=torch.int32))
    assert found.dtype == make().dtype
    assert found.tolist() == make().tolist()


def test_what_is_written_into_stays_one_tensor():
    def function(tensors):
        made = tensors[0] * 2
        again = made.add_(1)
        assert again is made
        made[0] = 0.0
        return [made, again]

    found = do(trace(function, [torch.ones(2)]), torch.tensor([1.0, 2.0]))
    assert [x.tolist() for x in found] == [[0.0, 5.0]] * 2


def test_parts_are_told_apart():
    def function(tensors):
        first, second = tensors[0].chunk(2)
        best, place = tensors[0].max(0)
        return [second - first, best, place]

    found = do(trace(function, [torch.zeros(4)]), torch.tensor([1.0, 5.0, 9.0, 8.0]))
    assert [x.tolist() for x in found] == [[8.0, 3.0], 9.0, 2]


def test_gradients_are_operations_too():
    weight = nn.Parameter(torch.tensor([3.0]))

    def function(tensors):
        with torch.enable_grad():
            x = tensors[0].detach().requires_grad_()
            y = (x * x * weight).tanh().exp().sum()
            return [*torch.autograd.grad(y, [x])]

    x = torch.tensor([0.1, 0.2])
    (found,) = do(trace(function, [torch.zeros(2)]), x)
    (wanted,) = function([x])
    assert torch.equal(found, wanted)


def test_what_stood_in_is_of_no_use_afterwards():
    kept = []

    def function(tensors):
        kept.append(tensors[0])
        return [tensors[0] + 1]

    trace(function, [torch.ones(1)])
    with pytest.raises(RuntimeError, match="stood in for another"):
        kept[0] + 1


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 7)), max_size=3),
    st.integers(0, 5),
)
def test_a_copy_has_the_same_strides(sides, offset):
    shape, strides = [size for size, _ in sides], [stride for _, stride in sides]
    extent = 1 + sum(max(0, size - 1) * stride for size, stride in sides)
    whole = torch.arange(float(offset + extent))
    x = whole.as_strided(shape, strides, offset)
    copy = copied(x)
    assert (copy.shape, copy.stride()) == (x.shape, x.stride())
    assert torch.equal(copy, x)
    if copy.numel():
        assert copy.untyped_storage().data_ptr() != whole.untyped_storage().data_ptr()


def test_no_front_end_of_a_compiler_is_imported():
    """It takes longer than to follow a step, and to load what was kept of it."""
    code = """
import sys
import torch
import yieldrl
from yieldrl.speed.graph import trace
layer = torch.nn.Linear(2, 2)
trace(lambda given: [layer(given[0]).tanh().detach()], [torch.ones(1, 2)])
print([name for name in ("torch._dynamo", "torch._inductor", "sympy")
       if name in sys.modules])
"""
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"
