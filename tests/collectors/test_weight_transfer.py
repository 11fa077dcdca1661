"""The copy that acts gets the learner's newest weights, whole, or keeps its own."""

import copy
import threading

import pytest
import torch
from torch import nn

from yieldrl.collectors.background import Weights


class Even(nn.Module):
    """All its numbers should be one."""

    def __init__(self, parts=20):
        super().__init__()
        self.many = nn.ParameterList([torch.zeros(50) for _ in range(parts)])
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(3, dtype=torch.float64))

    def fill(self, number):
        with torch.no_grad():
            for tensor in [*self.parameters(), *self.buffers()]:
                tensor.fill_(number)

    def number(self):
        """The one that all are; fails where they differ."""
        tensors = [*self.parameters(), *self.buffers()]
        numbers = {float(x) for tensor in tensors for x in tensor.unique()}
        assert len(numbers) == 1, f"torn: {numbers}"
        return numbers.pop()


def pair():
    learner = Even()
    actor = copy.deepcopy(learner).requires_grad_(False)
    return learner, actor, Weights(learner, actor)


def test_the_newest_are_taken_over_once():
    learner, actor, weights = pair()
    assert weights.take() is None
    learner.fill(1)
    weights.put(7)
    learner.fill(2)
    assert actor.number() == 0
    weights.put(9)
    learner.fill(3)
    assert weights.take() == 9
    assert actor.number() == 2
    assert weights.take() is None
    assert weights.newest == 9


def test_two_threads_never_see_half_of_them():
    learner, actor, weights = pair()
    last, taken = 400, []

    def act():
        while not taken or taken[-1] < last:
            version = weights.take()
            if version is not None:
                assert actor.number() == version
                taken.append(version)

    thread = threading.Thread(target=act)
    thread.start()
    for version in range(1, last + 1):
        learner.fill(version)
        weights.put(version)
    thread.join()
    assert taken == sorted(set(taken))
    assert taken[-1] == last


def test_what_is_put_in_half_is_not_taken(monkeypatch):
    """Ctrl-C while the weights are copied."""
    learner, actor, weights = pair()
    learner.fill(1)
    weights.put(1)
    whole = weights._copies

    def interrupted():
        whole()
        raise KeyboardInterrupt

    learner.fill(2)
    monkeypatch.setattr(weights, "_copies", interrupted)
    with pytest.raises(KeyboardInterrupt):
        weights.put(2)
    monkeypatch.undo()
    assert weights.newest == 1
    assert weights.take() == 1
    assert actor.number() == 1
    weights.put(2)
    assert weights.take() == 2
    assert actor.number() == 2


def test_frozen_parameters_that_both_share_are_left_alone():
    learner = nn.Sequential(nn.Linear(2, 3).requires_grad_(False), nn.Linear(3, 1))
    frozen = {id(p): p for p in learner[0].parameters()}
    actor = copy.deepcopy(learner, dict(frozen)).requires_grad_(False)
    weights = Weights(learner, actor)
    assert actor[0].weight is learner[0].weight
    assert actor[1].weight is not learner[1].weight
    assert [x.numel() for x in weights._copies().values()] == [3, 1]
    with torch.no_grad():
        learner[1].weight.fill_(5)
    weights.put(1)
    weights.take()
    assert actor[1].weight.eq(5).all()
    learner[0].requires_grad_(True)
    with pytest.raises(RuntimeError, match=r"were frozen .* make the trainer with"):
        weights.put(2)


def test_a_part_that_was_replaced_by_its_like_is_found_and_others_are_refused():
    learner, actor, weights = pair()
    for number in range(len(learner.many)):
        learner.many[number] = nn.Parameter(torch.ones(50))
    learner.count, learner.mean = torch.tensor(1), torch.ones(3).double()
    weights.put(1)
    weights.take()
    assert actor.number() == 1
    learner.many.append(torch.zeros(50))
    with pytest.raises(RuntimeError, match=r"other parts .* make the trainer with"):
        weights.put(2)
