"""A reward model: its loss by hand, its start, and what it learns."""

import functools
import math

import pytest
import torch
from answers import pairs_of as pairs_by
from answers import texts
from gymnasium.spaces import Dict
from torch import nn

from yieldrl.core import Utf8Text
from yieldrl.language import RewardModel, policy_for


@functools.cache
def policy():
    torch.manual_seed(0)
    spaces = Dict(prompt=Utf8Text(8)), Utf8Text(3)
    return policy_for(*spaces, d_model=16, num_layers=1, num_heads=2)


def pairs_of(better, worse):
    return pairs_by(policy(), better, worse)


def test_it_begins_without_a_preference_and_leaves_the_policy():
    before = {k: v.clone() for k, v in policy().state_dict().items()}
    model = RewardModel(policy())
    loss, logs = model.loss(pairs_of(["3", "3"], ["4", "12"]))
    assert loss.item() == pytest.approx(math.log(2))
    assert float(logs["margin"]) == 0
    for _ in model.fit(pairs_of(["3"], ["4"]), num_epochs=2):
        pass
    assert all(torch.equal(policy().state_dict()[k], v) for k, v in before.items())


def test_the_loss_is_that_of_bradley_and_terry():
    model = RewardModel(policy())
    nn.init.normal_(model.model.head.weight)
    obs = {"prompt": texts(4, "1+2=", "1+2=")}
    score = model.judge(obs, texts(3, "3", "12"))
    loss, logs = model.loss(pairs_of(["3"], ["12"]))
    margin = float(score[0] - score[1])
    assert loss.item() == pytest.approx(math.log(1 + math.exp(-margin)), rel=1e-5)
    assert float(logs["margin"]) == pytest.approx(margin, abs=1e-5)
    assert float(logs["accuracy"]) == float(margin > 0)
    # Steps of an episode add up, and those after it do not.
    one = pairs_of(["3"], ["12"])
    two = torch.cat([one, one], dim=2)
    margin = float(logs["margin"])  # a small difference of large scores
    assert float(model.loss(two)[1]["margin"]) == pytest.approx(2 * margin, abs=1e-5)
    two["valid"][..., 1] = False
    torch.testing.assert_close(model.loss(two)[0], model.loss(one)[0])


def test_it_learns_what_is_preferred_and_padding_does_not_matter():
    torch.manual_seed(0)
    model = RewardModel(policy())
    pairs = pairs_of(["3", "3", "3"], ["4", "12", "7"])
    logs = list(model.fit(pairs, num_epochs=40, batch_size=3, learning_rate=1e-2))
    assert len(logs) == 40
    assert float(logs[-1]["loss"]) < 0.1 < float(logs[0]["loss"])
    score = model.judge({"prompt": texts(4, "1+2=", "1+2=")}, texts(3, "3", "4"))
    assert score[0] > score[1]
    short = model.judge({"prompt": texts(4, "12=")}, texts(3, "3"))
    longer = model.judge({"prompt": texts(6, "12=")}, texts(3, "3"))
    torch.testing.assert_close(short, longer)


def test_a_step_follows_the_gradient_of_its_own_loss():
    model = RewardModel(policy())
    pairs = pairs_of(["3", "3"], ["4", "12"])
    steps = model.fit(pairs, num_epochs=2)
    next(steps)
    loss, _ = model.loss(pairs)
    (expected,) = torch.autograd.grad(loss, model.model.head.weight)
    next(steps)
    torch.testing.assert_close(model.model.head.weight.grad, expected)


def test_the_order_of_pairs_follows_from_the_seed():
    def learned(seed):
        torch.manual_seed(0)
        model = RewardModel(policy())
        pairs = pairs_of(["3", "3", "5"], ["4", "12", "7"])
        for _ in model.fit(pairs, num_epochs=2, batch_size=1, seed=seed):
            pass
        return model.model.head.weight.detach()

    assert torch.equal(learned(1), learned(1))
    assert not torch.equal(learned(1), learned(2))


def test_what_does_not_fit_is_said():
    with pytest.raises(ValueError, match="no pairs to learn from"):
        next(RewardModel(policy()).fit(pairs_of(["3"], ["4"])[:0]))
    other = policy_for(policy().observation_space, policy().action_space, d_model=16)
    other.model = nn.Linear(1, 1)
    with pytest.raises(TypeError, match="model is Linear"):
        RewardModel(other)
