"""Target networks follow."""

import torch
from torch import nn

from yieldrl.networks import update_target


def networks():
    online, target = (nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)) for _ in "ot")
    return online, target


def test_parameters_move_by_tau_and_buffers_are_copied():
    online, target = networks()
    online[1].running_mean.fill_(7.0)
    online[1].num_batches_tracked.fill_(5)
    before = [p.clone() for p in target.parameters()]
    update_target(online, target, 0.25)
    three = zip(online.parameters(), before, target.parameters(), strict=True)
    for own, old, new in three:
        torch.testing.assert_close(new, old + 0.25 * (own - old))
    assert target[1].running_mean.tolist() == [7.0, 7.0]
    assert target[1].num_batches_tracked.item() == 5


def test_tau_one_copies_bitwise_also_from_other_memory():
    """As the compiled step gives it."""
    online, target = networks()
    for parameter in online.parameters():
        parameter.data = parameter.data + 1
    update_target(online, target, 1.0)
    for own, new in zip(online.parameters(), target.parameters(), strict=True):
        assert torch.equal(own, new)
