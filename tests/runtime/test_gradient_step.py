"""The one place that takes a gradient step: who is trained, what can be overridden."""

import pytest
import torch
from torch import nn

from yieldrl.runtime import GradientStep


def learner(**options):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))

    def loss(x):
        loss = model(x).square().mean()
        return loss, {"loss": loss.detach()}

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, **options)
    return model, loss, optimizer


X = torch.randn(8, 3, generator=torch.Generator().manual_seed(1))


def test_it_is_the_five_lines_by_hand():
    model, loss, optimizer = learner()
    other, its_loss, its_optimizer = learner()
    step = GradientStep(loss, optimizer, max_grad_norm=0.01)
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


def test_frozen_parameters_stay_bitwise_whatever_the_optimizer_would_do():
    model, loss, optimizer = learner(weight_decay=0.5, momentum=0.9)
    step = GradientStep(loss, optimizer)
    step(X)  # momentum and all
    model[0].requires_grad_(False)
    before = [p.clone() for p in model.parameters()]
    step(X)
    same = [torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True)]
    assert same == [True, True, False, False]


def test_parameters_of_another_optimizer_get_no_gradient():
    model, loss, _ = learner()
    step = GradientStep(loss, torch.optim.SGD(model[2].parameters(), lr=0.1))
    before = model[0].weight.clone()
    step(X)
    assert model[0].weight.grad is None
    assert torch.equal(model[0].weight, before)


def test_with_everything_frozen_there_is_an_error_that_says_so():
    model, loss, optimizer = learner()
    model.requires_grad_(False)
    with pytest.raises(RuntimeError, match="every parameter of SGD has requires_grad"):
        GradientStep(loss, optimizer)(X)


def test_a_step_that_failed_leaves_no_gradient_behind():
    model, loss, optimizer = learner()

    class Failing(GradientStep):
        def clip(self, trained):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Failing(loss, optimizer, 1.0)(X)
    assert all(p.grad is None for p in model.parameters())
