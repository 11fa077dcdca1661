"""The entropy over tokens, and where answers end."""

import math

import pytest
import torch

from yieldrl.functional import tempered
from yieldrl.language.sampling import entropy_of, until_end

LOGITS = torch.tensor([[0.0, math.log(2), math.log(4), math.log(1)]])


def test_no_gradient_is_nan_where_tokens_are_out():
    logits = LOGITS.clone().requires_grad_()
    log_p = tempered(logits, top_k=2, taken=torch.tensor([2])).log_softmax(-1)
    (log_p[0, 2] + entropy_of(log_p).sum()).backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    assert logits.grad[0, 0] == logits.grad[0, 3] == 0


def test_the_entropy_by_hand():
    log_p = torch.tensor([[0.5, 0.25, 0.25, 0.0]]).log()
    assert entropy_of(log_p).item() == pytest.approx(1.5 * math.log(2))


def test_the_end_counts_and_nothing_after_it():
    tokens = torch.tensor([[0, 0, 0], [4, 0, 4], [4, 4, 4]])
    expected = [[True, False, False], [True, True, False], [True, True, True]]
    assert until_end(tokens, end=0).tolist() == expected
