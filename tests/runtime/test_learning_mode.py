"""Models that compute otherwise while learning are in train mode only then."""

import copy

import pytest
import torch
from torch import nn

from yieldrl.abstractions import Algorithm
from yieldrl.foundations import Config
from yieldrl.networks import frozen_parts, set_train_mode
from yieldrl.networks.train_mode import frozen


class Learner(Algorithm):
    """An algorithm without mathematics."""

    def predict(self, obs):
        raise NotImplementedError

    def learn(self, data):
        raise NotImplementedError


def learning(model):
    """The context in which an algorithm learns."""
    return Learner(model, Config(device="cpu")).learning()


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
    learner = Learner(model, Config(device="cpu"))
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
