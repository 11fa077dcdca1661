"""A function is written down once, and does what it did."""

import copy

import pytest
import torch
from torch import nn

from yieldrl.speed.graph import trace


def do(graph, *tensors):
    return graph.operations(*tensors, *graph.captured)


def test_it_writes_where_the_function_writes():
    def function(tensors):
        a, b = tensors
        a.add_(b)
        return [a * 2]

    graph = trace(function, [torch.zeros(3), torch.ones(3)])
    a = torch.tensor([1.0, 2.0, 3.0])
    assert do(graph, a, torch.ones(3))[0].tolist() == [4.0, 6.0, 8.0]
    assert a.tolist() == [2.0, 3.0, 4.0]


def test_what_it_was_not_given_is_looked_at_in_each_call():
    weight, buffer = nn.Parameter(torch.ones(2)), torch.ones(2)

    def function(tensors):
        return [(tensors[0] * weight * buffer + weight).detach()]

    graph = trace(function, [torch.ones(2)])
    assert {id(tensor) for tensor in graph.captured} == {id(weight), id(buffer)}
    assert do(graph, torch.ones(2))[0].tolist() == [2.0, 2.0]
    with torch.no_grad():
        weight.fill_(3.0)
    buffer.zero_()
    assert do(graph, torch.ones(2))[0].tolist() == [3.0, 3.0]


def test_nothing_happens_while_it_is_followed():
    given, state = torch.ones(2), torch.get_rng_state()
    trace(lambda tensors: [tensors[0].add_(torch.randn(2))], [given])
    assert given.tolist() == [1.0, 1.0]
    assert torch.equal(torch.get_rng_state(), state)


def test_random_numbers_are_drawn_in_each_call():
    graph = trace(lambda tensors: [tensors[0] + torch.randn(2)], [torch.zeros(2)])
    torch.manual_seed(0)
    wanted = [torch.randn(2), torch.randn(2)]
    torch.manual_seed(0)
    for one in wanted:
        assert torch.equal(do(graph, torch.zeros(2))[0], one)


@pytest.mark.parametrize(
    ("function", "tensors"),
    [
        (lambda t: [t[0] * 3], [torch.ones(2)]),  # another number
        (lambda t: [t[0] * 2], [torch.ones(3)]),  # another shape
        (lambda t: [t[0] * 2], [torch.ones(2, dtype=torch.float64)]),
        (lambda t: [t[0] * 2], [torch.ones(4)[::2]]),  # other strides
        (lambda t: [t[0] * 2, t[0]], [torch.ones(2)]),
    ],
)
def test_only_what_is_equal_has_one_key(function, tensors):
    key = trace(lambda t: [t[0] * 2], [torch.ones(2)]).key
    assert key == trace(lambda given: [given[0] * 2], [torch.zeros(2)]).key
    assert trace(function, tensors).key != key


def test_equal_networks_have_one_key():
    """Whatever their weights: what one run compiled serves the next."""
    first = nn.Linear(2, 2)
    keys = {
        trace(lambda t, net=net: [net(t[0]).detach()], [torch.ones(1, 2)]).key
        for net in (first, copy.deepcopy(first), nn.Linear(2, 2))
    }
    assert len(keys) == 1
