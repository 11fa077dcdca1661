"""Temperature, top-k, and draws that follow the probabilities."""

import math

import pytest
import torch

from yieldrl.language.sampling import drawn, entropy_of, tempered, until_end

LOGITS = torch.tensor([[0.0, math.log(2), math.log(4), math.log(1)]])


def test_a_temperature_is_a_power_of_the_probabilities():
    probability = LOGITS.softmax(-1)
    for temperature in (0.5, 1.0, 3.0):
        powers = probability ** (1 / temperature)
        expected = powers / powers.sum(-1, keepdim=True)
        found = tempered(LOGITS, temperature).softmax(-1)
        torch.testing.assert_close(found, expected)


def test_only_the_most_likely_are_left():
    found = tempered(LOGITS, top_k=2).softmax(-1)
    torch.testing.assert_close(found, torch.tensor([[0, 1 / 3, 2 / 3, 0]]))
    assert tempered(LOGITS, top_k=4) is not None
    torch.testing.assert_close(tempered(LOGITS, top_k=9), LOGITS)


def test_a_token_that_was_taken_stays_possible():
    taken = torch.tensor([0])
    found = tempered(LOGITS, top_k=2, taken=taken).softmax(-1)
    torch.testing.assert_close(found, torch.tensor([[1 / 7, 2 / 7, 4 / 7, 0]]))


def test_no_gradient_is_nan_where_tokens_are_out():
    logits = LOGITS.clone().requires_grad_()
    log_p = tempered(logits, top_k=2, taken=torch.tensor([2])).log_softmax(-1)
    (log_p[0, 2] + entropy_of(log_p).sum()).backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    assert logits.grad[0, 0] == logits.grad[0, 3] == 0


def test_draws_follow_the_probabilities():
    count = 40_000
    generator = torch.Generator().manual_seed(0)
    tokens = drawn(LOGITS.expand(count, -1), generator)
    share = torch.bincount(tokens, minlength=4) / count
    expected = torch.tensor([1, 2, 4, 1]) / 8
    deviation = (expected * (1 - expected) / count).sqrt()
    assert ((share - expected).abs() < 4 * deviation).all()


def test_the_entropy_by_hand():
    log_p = torch.tensor([[0.5, 0.25, 0.25, 0.0]]).log()
    assert entropy_of(log_p).item() == pytest.approx(1.5 * math.log(2))


def test_the_end_counts_and_nothing_after_it():
    tokens = torch.tensor([[0, 0, 0], [4, 0, 4], [4, 4, 4]])
    expected = [[True, False, False], [True, True, False], [True, True, True]]
    assert until_end(tokens, end=0).tolist() == expected
