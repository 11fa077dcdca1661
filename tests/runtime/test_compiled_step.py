"""The compiled step is the eager one, to rounding: same parameters, same options."""

import copy

import pytest
import torch
from torch import nn

from yieldrl.networks import MLP
from yieldrl.runtime import CompiledStep, GradientStep
from yieldrl.speed import Plan


class Scaled(MLP):
    """A network with a buffer, as a normalizer has one."""

    def __init__(self):
        super().__init__([3, 8, 1])
        self.register_buffer("scale", torch.ones(()))

    def forward(self, x):
        return super().forward(x) * self.scale


def at_once():
    return Plan("compile", 1, lambda: 0)


class Learner:
    def __init__(self, model, compiled, make_optimizer, max_grad_norm=0.5):
        self.model = model
        self.optimizer = make_optimizer(model)
        self.step = (
            CompiledStep(self.loss, self.optimizer, max_grad_norm, at_once())
            if compiled
            else GradientStep(self.loss, self.optimizer, max_grad_norm)
        )

    def loss(self, data):
        error = self.model(data["x"]).squeeze(1) - data["y"]
        data["priority"] = error.detach().abs()
        loss = error.square().mean()
        return loss, {"loss": loss.detach()}


def adam(model):
    return torch.optim.Adam(model.parameters(), lr=0.01, fused=True)


def batch(seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(16, 3, generator=generator)
    return {"x": x, "y": 3 * x.sum(1)}


def pair(make_optimizer, max_grad_norm=0.5):
    """An eager learner and a compiled one of the same network."""
    torch.manual_seed(0)
    model = Scaled()
    first = Learner(copy.deepcopy(model), False, make_optimizer, max_grad_norm)
    return first, Learner(model, True, make_optimizer, max_grad_norm)


def agree(learners, seed):
    data = [batch(seed), batch(seed)]
    logs = [one.step(its) for one, its in zip(learners, data, strict=True)]
    assert logs[0].keys() == logs[1].keys()
    for name in logs[0]:
        assert float(logs[0][name]) == pytest.approx(float(logs[1][name]), rel=1e-4)
        assert not getattr(logs[1][name], "requires_grad", False)
    torch.testing.assert_close(data[0]["priority"], data[1]["priority"])
    eager, compiled = (one.model.parameters() for one in learners)
    for one, two in zip(eager, compiled, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-6)


def everything(learners):
    for seed in range(5):
        agree(learners, seed)
    for learner in learners:  # a buffer that moves is seen, and so is a rate
        learner.model.scale.fill_(0.5)
        learner.optimizer.param_groups[0]["lr"] = 0.002
    for seed in range(5, 8):
        agree(learners, seed)
    # The optimizer's state is the eager one's, and may be loaded either way.
    states = [copy.deepcopy(learner.optimizer.state_dict()) for learner in learners]
    assert [s["state"][0]["step"].item() for s in states] == [8, 8]
    learners[0].optimizer.load_state_dict(states[1])
    learners[1].optimizer.load_state_dict(states[0])
    for seed in range(8, 11):
        agree(learners, seed)


@pytest.mark.slow
def test_compiled_it_is_the_eager_step():
    everything(pair(adam))


def test_it_is_the_eager_step(traced):
    everything(pair(adam))
    assert len(traced) == 1


def two_groups(model):
    """Rates, decay and direction of their own."""
    first, last = model.layers
    return torch.optim.Adam(
        [
            {"params": first.parameters(), "weight_decay": 0.3, "betas": (0.7, 0.9)},
            {"params": last.parameters(), "lr": 0.002, "maximize": True, "eps": 0.1},
        ],
        lr=0.05,
    )


def decoupled(model):
    return torch.optim.AdamW(model.parameters(), lr=0.05, weight_decay=0.2)


@pytest.mark.parametrize(
    ("make_optimizer", "max_grad_norm"), [(two_groups, 0.5), (decoupled, None)]
)
def test_every_option_is_honoured(traced, make_optimizer, max_grad_norm):
    learners = pair(make_optimizer, max_grad_norm)
    for seed in range(4):
        agree(learners, seed)


def test_frozen_parameters_stay_as_they_are(traced):
    learners = pair(two_groups)
    for seed in range(3):
        agree(learners, seed)
    for learner in learners:
        learner.model.layers[1].weight.requires_grad_(False)
    before = learners[1].model.layers[1].weight.clone()
    for seed in range(3, 6):
        agree(learners, seed)
    assert torch.equal(learners[1].model.layers[1].weight, before)
    for learner in learners:  # thawed, it goes on from its own count of steps
        learner.model.layers[1].weight.requires_grad_(True)
    for seed in range(6, 9):
        agree(learners, seed)
    assert not torch.equal(learners[1].model.layers[1].weight, before)
    assert len(traced) == 2  # one of them served twice


class Both(nn.Module):
    """Two networks, of which a loss may need one."""

    def __init__(self):
        super().__init__()
        self.one, self.two = MLP([3, 4, 1]), MLP([3, 4, 1])


def steps_of_both(model, compiled):
    """A step for both networks and one for the first alone, of one optimizer."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05, weight_decay=0.1)

    def together(data):
        loss = (model.one(data["x"]) + model.two(data["x"])).square().mean()
        return loss, {"loss": loss.detach()}

    def alone(data):
        loss = model.one(data["x"]).square().mean()
        return loss, {"loss": loss.detach()}

    return [
        CompiledStep(loss, optimizer, 0.5, at_once())
        if compiled
        else GradientStep(loss, optimizer, 0.5)
        for loss in (together, alone)
    ]


def test_what_a_loss_does_not_depend_on_stays_bitwise_as_it_is(traced):
    """Its moments are not zero: a step along no gradient would move it."""
    torch.manual_seed(0)
    eager, compiled = (Both(), Both())
    compiled.load_state_dict(eager.state_dict())
    models = (eager, compiled)
    steps = [steps_of_both(eager, False), steps_of_both(compiled, True)]
    for which in (0, 0, 1, 1, 0):
        before = copy.deepcopy(compiled.two.state_dict())
        for each in steps:
            each[which](batch(which))
        for one, two in zip(*(m.parameters() for m in models), strict=True):
            torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-6)
        after = compiled.two.state_dict()
        assert (which == 1) == all(torch.equal(after[k], before[k]) for k in after)
