"""Weights over a group arrive on all sides, or fail on all sides."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from yieldrl.distributed.weight_group import WeightGroup, WeightSender
from yieldrl.distributed.weights import Signature, SignatureError, learned


def model(width=3, value=0.0):
    made = nn.Sequential(nn.Linear(2, width), nn.BatchNorm1d(width))
    made.register_buffer("low", torch.ones(5, 2).bfloat16().t())
    made.register_buffer("flag", torch.zeros(3, dtype=torch.bool))
    made.register_buffer("empty", torch.zeros(0))
    with torch.no_grad():
        for x in made.state_dict().values():
            x.fill_(value)
    return made


@pytest.fixture
def sender():
    return WeightSender("127.0.0.1", seconds=120.0)


def results(sender, source, receivers, version=1, groups=None):
    """What every side raises, or None; the sender's is first."""
    tensors = learned(source)
    signature = Signature.of(tensors, version)
    seats = sender.seats(tuple(range(len(receivers))))

    def receive(seat, receiver):
        group = (groups or {}).get(seat) or WeightGroup(seat, seconds=120.0)
        if groups is not None:
            groups[seat] = group
        group.receive(receiver, signature)

    with ThreadPoolExecutor(1 + len(receivers)) as pool:
        asked = [pool.submit(sender.send, tensors, signature)]
        pairs = zip(seats, receivers, strict=True)
        asked += [pool.submit(receive, *pair) for pair in pairs]
        return [each.exception(timeout=300) for each in asked]


def same(one, other):
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(*pair) for pair in pairs)


def test_tensors_of_every_dtype_arrive_bitwise_again_and_again(sender):
    receivers, groups = [model(), model()], {}
    for version in (1, 2):
        source = model(value=version + 1 / 3)
        found = results(sender, source, receivers, version, groups)
        assert found == [None] * 3
        assert [same(source, receiver) for receiver in receivers] == [True] * 2
    assert sender.number == 1, "the second went over the group of the first"
    assert {seat.name for seat in sender.seats((0, 2))} == {"weights 2"}, "of others"


def test_another_tensor_is_named_on_all_sides_and_nothing_is_loaded(sender):
    fits, other = model(), model(width=4)
    found = results(sender, model(value=1.0), [fits, other], version=7)
    said = r"receiver 1 of weights: weights of version 7: 0\.bias was sent as \(\(3,\)"
    for error in found:
        assert isinstance(error, SignatureError)
        with pytest.raises(SignatureError, match=said):
            raise error
    assert same(fits, model())
    assert same(other, model(width=4))


def test_when_a_receiver_is_gone_the_next_group_has_another_name(sender):
    source, groups = model(value=1.0), {}
    receivers = [model(), model()]
    assert results(sender, source, receivers, 1, groups) == [None] * 3
    seat = sender.seats((0, 1))[1]
    groups.clear()  # as where its process ends
    with pytest.raises(RuntimeError):
        sender.send(learned(source), Signature.of(learned(source), 2))
    assert not sender.knows((0, 1))
    (other,) = sender.seats((0,))
    assert (seat.name, other.name) == ("weights 1", "weights 2")
    source = model(value=3.0)
    assert results(sender, source, receivers[:1], 3, groups) == [None] * 2
    assert same(source, receivers[0])
