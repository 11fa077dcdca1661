"""A batched ensemble is its members, one by one."""

import pytest
import torch
from torch import nn

from yieldrl.networks import MLP, EnsembleMLP


def member(ensemble, i, sizes, activation):
    """The i-th network as a plain MLP."""
    mlp = MLP(sizes, activation)
    with torch.no_grad():
        for k, layer in enumerate(mlp.layers):
            layer.weight.copy_(ensemble.weights[k][i].t())
            layer.bias.copy_(ensemble.biases[k][i, 0])
    return mlp


@pytest.mark.parametrize(
    ("activation", "sizes"), [("silu", [3, 1]), ("tanh", [3, 16, 8, 1])]
)
def test_it_is_its_members(sizes, activation):
    ensemble = EnsembleMLP(3, sizes, activation)
    x = torch.randn(5, 3)
    y = ensemble(x)
    assert y.shape == (3, 5, sizes[-1])
    for i in range(3):
        alone = member(ensemble, i, sizes, activation)(x)
        torch.testing.assert_close(y[i], alone)
    torch.testing.assert_close(ensemble.first(x), y[0])
    many = torch.randn(3, 5, 3)  # each may read an input of its own
    for i, apart in enumerate(ensemble(many)):
        torch.testing.assert_close(apart, ensemble(many[i])[i])


def test_hidden_layers_are_normalized_where_it_is_asked():
    """Scaling and shifting a first layer then changes nothing that comes out."""
    ensemble = EnsembleMLP(2, [3, 16, 8, 1], "tanh", normalizes=True).double()
    x = torch.randn(5, 3, dtype=torch.float64)
    before = ensemble(x)
    hidden = x
    for weight, bias in zip(ensemble.weights[:2], ensemble.biases[:2], strict=True):
        y = hidden @ weight[0] + bias[0]
        hidden = torch.tanh(nn.functional.layer_norm(y, y.shape[-1:]))
    by_hand = hidden @ ensemble.weights[2][0] + ensemble.biases[2][0]
    torch.testing.assert_close(before[0], by_hand)
    torch.testing.assert_close(ensemble.first(x), by_hand)
    with torch.no_grad():
        ensemble.weights[0].mul_(7)
        ensemble.biases[0].mul_(7).add_(3)
    torch.testing.assert_close(ensemble(x), before, atol=1e-4, rtol=1e-3)


def test_gradients_stay_with_their_member():
    ensemble = EnsembleMLP(2, [3, 8, 1])
    ensemble(torch.randn(5, 3))[0].sum().backward()
    for parameter in ensemble.parameters():
        assert parameter.grad is not None
        assert parameter.grad[0].abs().sum() > 0
        assert parameter.grad[1].abs().sum() == 0


def test_members_start_apart_as_linear_layers_do():
    torch.manual_seed(0)
    ensemble = EnsembleMLP(2, [100, 400, 1])
    first, second = ensemble.weights[0]
    assert not torch.isclose(first, second).any()
    bound = 0.1  # 1 / sqrt(100), that of nn.Linear
    for weight in (first, second, nn.Linear(100, 400).weight):
        assert 0.999 * bound < weight.abs().max() <= bound
