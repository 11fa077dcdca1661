"""Temperature and top-k, by hand."""

import math

import torch

from yieldrl.functional import tempered

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
