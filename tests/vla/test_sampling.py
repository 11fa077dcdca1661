"""Temperature and top-k: by hand, alike in acting and learning, and turned off."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete

from yieldrl.foundations import Utf8Text
from yieldrl.networks import Categorical
from yieldrl.vla import VLAPolicy
from yieldrl.vla.config import VLAConfig
from yieldrl.vla.sampling import TopK, drawn_from

LOGITS = torch.tensor([0.0, 3.0, 1.0, 2.0])


def test_turned_off_it_is_the_usual_distribution() -> None:
    assert drawn_from(1.0, None) is Categorical
    whole = TopK(LOGITS.view(1, 4), k=9)
    plain = Categorical(LOGITS.view(1, 4))
    for action in range(4):
        index = torch.tensor([action])
        assert torch.equal(whole.log_prob(index), plain.log_prob(index))
    assert torch.equal(whole.entropy(), plain.entropy())


def test_temperature_divides_the_logits() -> None:
    policy = drawn_from(2.0, None)(torch.tensor([[0.0, 2.0 * math.log(3)]]))
    assert policy.log_prob(torch.tensor([1])).exp().item() == pytest.approx(0.75)
    entropy = -0.75 * math.log(0.75) - 0.25 * math.log(0.25)
    assert policy.entropy().item() == pytest.approx(entropy)


def test_others_than_the_most_likely_are_never_drawn() -> None:
    policy = drawn_from(1.0, 2)(LOGITS.expand(4000, 4))
    generator = torch.Generator().manual_seed(0)
    drawn = policy.sample(generator).bincount(minlength=4) / 4000
    p = 1 / (1 + math.exp(-1.0))
    assert drawn.tolist() == pytest.approx([0, p, 0, 1 - p], abs=0.03)
    assert policy.mode()[0] == 1


def test_what_left_the_most_likely_since_has_a_gradient() -> None:
    logits = LOGITS.clone().requires_grad_()
    policy = TopK(logits.unsqueeze(0), k=2)
    log_prob = policy.log_prob(torch.tensor([0]))  # among 0, 1 and 3
    total = 1 + math.exp(3) + math.exp(2)
    assert log_prob.item() == pytest.approx(-math.log(total), abs=1e-6)
    (grad,) = torch.autograd.grad(log_prob.sum(), logits)
    wanted = [1 - 1 / total, -math.exp(3) / total, 0, -math.exp(2) / total]
    assert grad.tolist() == pytest.approx(wanted, abs=1e-6)


def test_acting_and_learning_agree_on_it() -> None:
    pytest.importorskip("transformers", reason="its model is of yieldrl[vla]")
    space = Dict(rgb=Box(0, 255, (8, 8, 3), np.uint8), language=Utf8Text(8))
    sizes = {"width": 16, "layers": 1, "heads": 2, "vision_width": 8}
    options = {"temperature": 1.7, "top_k": 2, "model_config": sizes}
    torch.manual_seed(0)
    policy = VLAPolicy.from_config(space, Discrete(4), VLAConfig(**options)).eval()
    obs = {
        "rgb": torch.randint(255, (64, 8, 8, 3), dtype=torch.uint8),
        "language": torch.full((64, 8), 97, dtype=torch.uint8),
    }
    with torch.no_grad():
        action, extras = policy.sample(obs, torch.Generator().manual_seed(1))
        log_prob, entropy, _ = policy.evaluate_actions(obs, action)
    torch.testing.assert_close(log_prob, extras["log_prob"])
    assert entropy.max() <= math.log(2) + 1e-6, "of two choices at most"
    with pytest.raises(ValueError, match=r"temperature = 0"):
        VLAConfig.from_dict({"temperature": 0.0})
