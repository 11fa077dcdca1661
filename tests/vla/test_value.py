"""Attention pooling."""

from __future__ import annotations

import torch

from yieldrl.vla import AttentionPool


def pool(width: int = 8) -> AttentionPool:
    torch.manual_seed(0)
    head = AttentionPool(width)
    torch.nn.init.normal_(head.query)
    return head


def test_padding_changes_nothing_whatever_it_holds() -> None:
    head, hidden = pool(), torch.randn(4, 5, 8)
    plain = head(hidden, torch.ones(4, 5, dtype=torch.bool))
    for filler in (0.0, 1e9, torch.nan):
        padded = torch.cat([hidden[:, :2], torch.full((4, 3, 8), filler)], 1)
        padded = torch.cat([padded, hidden[:, 2:]], 1)
        mask = torch.tensor([1, 1, 0, 0, 0, 1, 1, 1]).bool().expand(4, 8)
        torch.testing.assert_close(head(padded, mask), plain)


def test_without_a_query_it_is_the_mean() -> None:
    head = AttentionPool(8)
    hidden, mask = torch.randn(2, 3, 8), torch.ones(2, 3, dtype=torch.bool)
    mean = head.norm(hidden).mean(1)
    torch.testing.assert_close(head(hidden, mask), head.mlp(mean).squeeze(-1))


def test_it_weighs_by_the_query() -> None:
    """A query of (s, 0, ...) weighs positions by softmax(s norm(h)_0 / sqrt(W))."""
    head = AttentionPool(4)
    with torch.no_grad():
        head.query.copy_(torch.tensor([3.0, 0, 0, 0]))
    hidden, mask = torch.randn(1, 2, 4), torch.ones(1, 2, dtype=torch.bool)
    states = head.norm(hidden)
    a, b = (1.5 * states[0, :, 0]).softmax(0)
    pooled = (a * states[0, 0] + b * states[0, 1]).unsqueeze(0)
    torch.testing.assert_close(head(hidden, mask), head.mlp(pooled).squeeze(-1))


def test_it_is_float32_of_bfloat16() -> None:
    hidden, mask = torch.randn(2, 3, 8), torch.ones(2, 3, dtype=torch.bool)
    assert pool()(hidden.bfloat16(), mask).dtype == torch.float32


def test_gradients_are_finite_where_padding_is_not() -> None:
    head = pool()
    hidden = torch.randn(2, 3, 8)
    hidden[:, 2] = torch.nan
    mask = torch.tensor([True, True, False]).expand(2, 3)
    head(hidden, mask).sum().backward()
    assert all(
        p.grad is not None and p.grad.isfinite().all() for p in head.parameters()
    )
