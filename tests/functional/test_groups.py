"""Returns compared within their groups."""

import torch

from yieldrl.functional import centred, group_mean


def test_returns_are_compared_with_the_mean_of_those_that_count():
    returns = torch.tensor([[1.0, 3.0, 8.0], [2.0, 9.0, 5.0]])
    counted = torch.tensor([[True, True, True], [True, True, False]])
    expected = torch.tensor([[-3.0, -1.0, 4.0], [-3.5, 3.5, 0.0]])
    assert torch.equal(centred(returns, counted), expected)
    assert torch.equal(group_mean(returns, counted), torch.tensor([[4.0], [5.5]]))


def test_equal_returns_are_exactly_zero_whatever_the_rounding():
    third = torch.full((1, 7), 0.1)
    assert third.mean() != third[0, 0], "the mean of equal numbers is rounded"
    assert torch.equal(centred(third, third > 0), torch.zeros(1, 7))


def test_nothing_that_counts_is_zero_and_not_nan():
    none = torch.zeros(2, 3, dtype=torch.bool)
    returns = torch.tensor([[1.0, 2.0, 3.0], [torch.nan, 2.0, torch.inf]])
    assert torch.equal(centred(returns, none), torch.zeros(2, 3))
    assert torch.equal(group_mean(returns, none), torch.zeros(2, 1))
