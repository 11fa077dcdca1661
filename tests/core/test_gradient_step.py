"""The one place that takes a gradient step: who is trained, and in which mode."""

import copy
import signal

import pytest
import torch
from torch import nn

from yieldrl.abstractions import Algorithm
from yieldrl.core import Config
from yieldrl.networks import frozen_parts, set_train_mode
from yieldrl.networks.train_mode import frozen


class Plain(Algorithm):
    """An algorithm without mathematics."""

    def predict(self, obs):
        raise NotImplementedError

    def learn(self, data):
        raise NotImplementedError


def step_of(loss, optimizer, max_grad_norm=None):
    algorithm = Plain(nn.Linear(1, 1), Config(device="cpu"))
    return lambda x: algorithm.minimize(loss, x, optimizer, max_grad_norm)


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


def test_frozen_parameters_stay_bitwise_whatever_the_optimizer_would_do():
    model, loss, optimizer = learner(weight_decay=0.5, momentum=0.9)
    step = step_of(loss, optimizer)
    step(X)  # momentum and all
    model[0].requires_grad_(False)
    before = [p.clone() for p in model.parameters()]
    step(X)
    same = [torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True)]
    assert same == [True, True, False, False]


def test_parameters_of_another_optimizer_get_no_gradient_and_one_must_learn():
    model, loss, _ = learner()
    step = step_of(loss, torch.optim.SGD(model[2].parameters(), lr=0.1))
    before = model[0].weight.clone()
    step(X)
    assert model[0].weight.grad is None
    assert torch.equal(model[0].weight, before)
    model, loss, optimizer = learner()
    model.requires_grad_(False)
    with pytest.raises(RuntimeError, match="every parameter of SGD has requires_grad"):
        step_of(loss, optimizer)(X)


def test_a_step_that_failed_leaves_no_gradient_behind():
    model, loss, optimizer = learner()

    def fail():
        raise KeyboardInterrupt

    optimizer.step = fail
    with pytest.raises(KeyboardInterrupt):
        step_of(loss, optimizer, 1.0)(X)
    assert all(p.grad is None for p in model.parameters())


def learning(model):
    """The context in which an algorithm learns."""
    return Plain(model, Config(device="cpu")).learning()


class ReadsTheMode(nn.Module):
    def forward(self, x):
        return x if self.training else -x


@pytest.mark.parametrize(
    "part",
    [
        nn.Dropout(),
        nn.BatchNorm1d(3),
        nn.LSTM(3, 4, num_layers=2, dropout=0.1),
        nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3)),
        ReadsTheMode(),
    ],
    ids=lambda part: type(part).__name__,
)
def test_whatever_may_look_at_the_mode_is_switched(part):
    model = nn.Sequential(nn.Linear(3, 3), nn.Sequential(part)).eval()
    with learning(model):
        assert all(module.training for module in model.modules())
    assert not any(module.training for module in model.modules())


def test_what_was_frozen_before_stays_so_afterwards_even_after_an_error():
    model = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1), nn.Dropout()).eval()
    model[1].requires_grad_(False)

    def learn():
        with learning(model), frozen(model.parameters()):
            assert model[2].training
            assert not any(p.requires_grad for p in model.parameters())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        learn()
    assert not model[2].training
    assert [p.requires_grad for p in model.parameters()] == [True] * 2 + [False] * 2


STATISTICAL = {
    "batch_norm": nn.BatchNorm1d(3),
    "spectral_norm": nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3)),
    "dropout": nn.Dropout(0.9),
    "rrelu": nn.RReLU(),
}


class Frozen(nn.Module):
    """A frozen layer behind another, in front of one that learns."""

    def __init__(self, layer):
        super().__init__()
        self.seen = nn.Sequential(nn.Linear(3, 3), layer, nn.Linear(3, 3))
        self.head = nn.Linear(3, 1)
        self.seen.requires_grad_(False)
        self.eval()

    def forward(self, x):
        return self.head(self.seen(x))


@pytest.mark.parametrize("layer", STATISTICAL.values(), ids=STATISTICAL)
def test_what_is_frozen_stays_to_the_bit_while_the_rest_learns(layer):
    model, x = Frozen(copy.deepcopy(layer)), torch.randn(8, 3)
    before = copy.deepcopy(model.seen.state_dict())
    expected, head = model.seen(x), model.head.weight.clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.1)
    for _ in range(3):
        with learning(model):
            assert model.training
            assert model.head.training
            assert torch.equal(model.seen(x), expected)
            model(x).sum().backward()
            optimizer.step()
    assert not model.training
    after = model.seen.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert torch.equal(model.seen(x), expected)
    assert not torch.equal(model.head.weight, head)


def test_the_largest_frozen_parts_are_found_and_what_learns_beside_them_is_not():
    body = nn.Sequential(nn.Linear(2, 2), nn.Dropout())
    norm, head = nn.BatchNorm1d(2), nn.Linear(2, 1)
    model = nn.Sequential(body, norm, nn.Dropout(), head)
    assert frozen_parts(model) == []
    body.requires_grad_(False)
    norm.requires_grad_(False)
    head.bias.requires_grad_(False)  # its weight learns
    assert frozen_parts(model) == [body, norm]
    head.requires_grad_(False)
    assert frozen_parts(model) == [model]
    set_train_mode(model.requires_grad_(True))
    assert all(part.training for part in model.modules())


def test_what_is_thawed_frozen_or_put_in_later_counts_at_the_next_step():
    model, head = nn.Sequential(nn.Linear(2, 2)).eval(), nn.Linear(2, 1)
    learner = Plain(model, Config(device="cpu"))
    with learner.learning():
        assert not model.training  # nothing looks at it
    dropout = nn.Dropout()
    body = nn.Sequential(nn.Linear(2, 2), dropout)
    model[0] = nn.Sequential(body, head)
    with learner.learning():
        assert dropout.training
    body.requires_grad_(False)
    with learner.learning():
        assert head.training
        assert not dropout.training
    body.requires_grad_(True)
    with learner.learning():
        assert dropout.training
    assert not any(part.training for part in model.modules())


class Pressed(torch.optim.SGD):
    """Ctrl-C comes in the middle of a step."""

    def step(self, closure=None):
        signal.raise_signal(signal.SIGINT)
        return super().step(closure)


def test_ctrl_c_waits_until_every_parameter_has_its_part_of_the_step():
    """Adam would keep half of a state, and the loop could not go on."""
    model, loss, _ = learner()
    before = copy.deepcopy([*model.parameters()])
    with pytest.raises(KeyboardInterrupt):
        step_of(loss, Pressed(model.parameters(), lr=0.1))(X)
    for one, two in zip(model.parameters(), before, strict=True):
        assert not torch.equal(one, two)
        assert one.grad is None
