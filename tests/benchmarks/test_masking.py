"""What the claim about masks counts."""

import torch

from yieldrl.benchmarks.claims.evidence import masking


def test_impossible_actions_are_counted():
    mask = torch.tensor([[1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1]]).bool()
    assert masking.impossible(torch.tensor([0, 1, 2, 2]), mask) == 0
    assert masking.impossible(torch.tensor([2, 0, 2, 1]), mask) == 3


def test_every_action_of_the_rollouts_is_looked_at(monkeypatch):
    monkeypatch.setattr(masking, "STEPS", 8_192)
    measured = masking.in_taxi(1)
    assert measured["actions"] == 8_192
    assert measured["impossible, sampled"] == measured["impossible, predicted"] == 0
    assert 1 < measured["possible of 6"] < 6
