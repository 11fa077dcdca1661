"""Plain layers: widths, activations, how they start out; and targets that follow."""

import pytest
import torch
from torch import nn
from torch.nn.functional import linear

from yieldrl.networks import MLP, orthogonal, update_target


@pytest.mark.parametrize(
    "layer", [nn.Linear(20, 7), nn.Linear(7, 20), nn.Conv2d(3, 16, 4, 2)]
)
def test_orthogonal(layer):
    gain = 0.01
    assert orthogonal(layer, gain) is layer
    values = torch.linalg.svdvals(layer.weight.detach().flatten(1))
    torch.testing.assert_close(values, torch.full_like(values, gain))
    assert (layer.bias == 0).all()


def pairs(mlp):
    """Weight and bias of every layer."""
    parameters = list(mlp.parameters())
    return list(zip(parameters[::2], parameters[1::2], strict=True))


def test_mlp_gives_its_last_layer_a_gain_of_its_own_or_keeps_pytorchs_start():
    last_gain = 0.01
    layers = pairs(MLP([5, 16, 16, 3], last_gain=last_gain))
    gains = [2**0.5, 2**0.5, last_gain]
    for (weight, bias), gain in zip(layers, gains, strict=True):
        values = torch.linalg.svdvals(weight.detach())
        torch.testing.assert_close(values, torch.full_like(values, gain))
        assert (bias == 0).all()
    torch.manual_seed(3)
    tested = MLP([5, 16, 3])
    torch.manual_seed(3)
    plain = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 3))
    obs = torch.randn(4, 5)
    assert torch.equal(tested(obs), plain(obs))


@pytest.mark.parametrize(("name", "layer"), [("tanh", nn.Tanh()), ("relu", nn.ReLU())])
def test_mlp_is_its_layers_with_activations_between(name, layer):
    tested = MLP([4, 8, 6, 2], name)
    first, second, last = pairs(tested)
    obs = torch.randn(100, 4)
    hidden = layer(linear(layer(linear(obs, *first)), *second))
    expected = linear(hidden, *last)
    torch.testing.assert_close(tested(obs), expected)
    assert (expected < 0).any(), "none after the last"


def test_a_target_moves_by_tau_and_has_a_copy_of_buffers():
    online, target = (nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)) for _ in "ot")
    online[1].running_mean.fill_(7.0)
    online[1].num_batches_tracked.fill_(5)
    before = [p.clone() for p in target.parameters()]
    update_target(online, target, 0.25)
    three = zip(online.parameters(), before, target.parameters(), strict=True)
    for own, old, new in three:
        torch.testing.assert_close(new, old + 0.25 * (own - old))
    assert target[1].running_mean.tolist() == [7.0, 7.0]
    assert target[1].num_batches_tracked.item() == 5
    for (
        parameter
    ) in online.parameters():  # in other memory, as a compiled step gives it
        parameter.data = parameter.data + 1
    update_target(online, target, 1.0)
    for own, new in zip(online.parameters(), target.parameters(), strict=True):
        assert torch.equal(own, new)
