"""Moments of parts, combined, are those of the whole."""

import torch

from yieldrl.core.running_statistics import combine_moments, masked_moments


def test_moments_are_those_of_all_rows():
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(40, 3, dtype=torch.float64, generator=generator) * 5 + 2
    where = torch.rand(40, generator=generator) < 0.5
    mean, var, n = masked_moments(rows, where)
    torch.testing.assert_close(mean, rows[where].mean(0))
    torch.testing.assert_close(var, rows[where].var(0, correction=0))
    assert n == where.sum()
    other = masked_moments(rows, ~where)
    mean, var, n = combine_moments(mean, var, n, *other)
    torch.testing.assert_close(mean, rows.mean(0))
    torch.testing.assert_close(var, rows.var(0, correction=0))
    nobody = masked_moments(rows, torch.zeros(40, dtype=torch.bool))
    after = combine_moments(mean, var, n, *nobody)
    torch.testing.assert_close(after, (mean, var, n))
