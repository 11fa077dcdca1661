"""The one place that takes a gradient step: who is trained, what can be overridden."""

import pytest
import torch
from torch import nn

from yieldrl.abstractions import Algorithm
from yieldrl.foundations import Config
from yieldrl.runtime import GradientStep


class Plain(Algorithm):
    """An algorithm without mathematics."""

    def predict(self, obs):
        raise NotImplementedError

    def learn(self, data):
        raise NotImplementedError


@pytest.fixture(params=["minimize", "gradient_step"])
def step_of(request):
    """Makes what takes gradient steps, in either of two ways."""

    def make(loss, optimizer, max_grad_norm=None):
        if request.param == "gradient_step":
            return GradientStep(loss, optimizer, max_grad_norm)
        algorithm = Plain(nn.Linear(1, 1), Config(device="cpu"))
        return lambda x: algorithm.minimize(loss, x, optimizer, max_grad_norm)

    return make


def learner(**options):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))

    def loss(x):
        loss = model(x).square().mean()
        return loss, {"loss": loss.detach()}

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, **options)
    return model, loss, optimizer


X = torch.randn(8, 3, generator=torch.Generator().manual_seed(1))


def test_it_is_the_five_lines_by_hand(step_of):
    model, loss, optimizer = learner()
    other, its_loss, its_optimizer = learner()
    step = step_of(loss, optimizer, max_grad_norm=0.01)
    for _ in range(3):
        logs = step(X)
        value, _ = its_loss(X)
        its_optimizer.zero_grad()
        value.backward()
        norm = nn.utils.clip_grad_norm_(other.parameters(), 0.01)
        its_optimizer.step()
        assert torch.equal(logs["loss"], value.detach())
        assert torch.equal(logs["grad_norm"], norm)
        assert logs["learning_rate"] == 0.1
    for one, two in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(one, two)


def test_frozen_parameters_stay_bitwise_whatever_the_optimizer_would_do(step_of):
    model, loss, optimizer = learner(weight_decay=0.5, momentum=0.9)
    step = step_of(loss, optimizer)
    step(X)  # momentum and all
    model[0].requires_grad_(False)
    before = [p.clone() for p in model.parameters()]
    step(X)
    same = [torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True)]
    assert same == [True, True, False, False]


def test_parameters_of_another_optimizer_get_no_gradient(step_of):
    model, loss, _ = learner()
    step = step_of(loss, torch.optim.SGD(model[2].parameters(), lr=0.1))
    before = model[0].weight.clone()
    step(X)
    assert model[0].weight.grad is None
    assert torch.equal(model[0].weight, before)


def test_with_everything_frozen_there_is_an_error_that_says_so(step_of):
    model, loss, optimizer = learner()
    model.requires_grad_(False)
    with pytest.raises(RuntimeError, match="every parameter of SGD has requires_grad"):
        step_of(loss, optimizer)(X)


def test_a_step_that_failed_leaves_no_gradient_behind(step_of):
    model, loss, optimizer = learner()

    def fail():
        raise KeyboardInterrupt

    optimizer.step = fail
    with pytest.raises(KeyboardInterrupt):
        step_of(loss, optimizer, 1.0)(X)
    assert all(p.grad is None for p in model.parameters())
