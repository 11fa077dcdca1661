"""Which observations are answered in NumPy, and that the answers are PyTorch's."""

import copy
import pickle

import numpy as np
import pytest
import torch
from torch import nn

from yieldrl.networks import MLP, NoisyMLP
from yieldrl.speed import ArrayPolicy

NARROW = [3, 16, 2]  # 98 parameters


def greedy(layers):
    return lambda obs: layers(obs).argmax(1)


def rows(count, dtype=np.float32):
    return np.zeros((count, 3), dtype)


def test_a_few_rows_of_float32_are_taken():
    layers = MLP(NARROW)
    policy = ArrayPolicy(greedy(layers), layers, (3,))
    assert policy.max_rows == 510
    for obs in (rows(1), rows(510)):
        assert policy.takes(obs)
    others = [rows(0), rows(511), rows(1, np.float64), rows(1, np.uint8)]
    others += [np.zeros(3, np.float32), np.zeros((1, 4), np.float32)]
    others += [np.zeros((1, 1, 3), np.float32), np.float32(0), np.zeros((), np.float32)]
    others += [torch.zeros(1, 3), {"a": rows(1)}, [[0.0, 0.0, 0.0]]]
    for obs in others:
        assert not policy.takes(obs)


def test_wide_layers_are_pytorchs_work():
    layers = MLP([3, 256, 256, 2])
    assert not ArrayPolicy(greedy(layers), layers, (3,)).takes(rows(1))


@pytest.mark.parametrize(
    "function",
    [
        lambda layers: lambda obs: torch.softmax(layers(obs), 1),
        lambda layers: lambda obs: layers(obs).unflatten(1, (2, 1)),
        lambda layers: lambda obs: torch.as_tensor(layers(obs)).argmax(1),
        lambda layers: lambda obs: layers(obs).unsqueeze(1),
        lambda layers: lambda obs: -layers(obs),
        lambda layers: lambda obs: layers(obs)[:, :1],
        lambda layers: lambda obs: (layers(obs), obs)[0] if len(obs) else obs,
        lambda layers: lambda obs: nn.functional.linear(obs, layers.layers[0].weight),
    ],
)
def test_a_function_that_needs_other_operations_gets_tensors(function):
    layers = MLP(NARROW)
    assert not ArrayPolicy(function(layers), layers, (3,)).takes(rows(1))


def test_layers_whose_weights_are_computed_get_tensors():
    layers = NoisyMLP(NARROW)
    assert not ArrayPolicy(greedy(layers), layers, (3,)).takes(rows(1))


def test_of_two_branches_the_one_that_is_returned_counts():
    layers, other = MLP(NARROW), MLP(NARROW)
    policy = ArrayPolicy(lambda obs: (other(obs), layers(obs))[1], layers, (3,))
    obs = torch.randn(2, 3)
    np.testing.assert_allclose(policy(obs.numpy()), layers(obs).detach(), rtol=1e-5)


def test_nothing_to_compute():
    assert not ArrayPolicy(lambda obs: obs, nn.Module(), (3,)).takes(rows(1))


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("sizes", [[3, 2], [3, 9, 2], [3, 30, 20, 3]])
def test_the_answers_are_those_of_pytorch(sizes, activation):
    layers = MLP(sizes, activation)
    policy = ArrayPolicy(layers, layers, (3,))
    for count in (1, 7):
        obs = torch.randn(count, 3)
        before = obs.clone()
        answer = policy(obs.numpy())
        assert type(answer) is np.ndarray
        assert answer.dtype == np.float32
        np.testing.assert_allclose(answer, layers(obs).detach(), rtol=1e-5, atol=1e-6)
        assert torch.equal(obs, before), "activations in place spare the input"


def test_the_parameters_are_those_of_the_moment():
    layers, other = MLP([4, 9, 2], "relu"), MLP([4, 9, 2], "relu")
    policy = ArrayPolicy(layers, layers, (4,))
    obs = torch.randn(1, 4)

    def agree():
        expected = layers(obs).detach()
        np.testing.assert_allclose(policy(obs.numpy()), expected, rtol=1e-5, atol=1e-6)
        return expected

    before = agree()
    optimizer = torch.optim.Adam(layers.parameters(), lr=0.1, fused=True)
    layers(obs).sum().backward()
    optimizer.step()
    after = agree()
    layers.load_state_dict(other.state_dict())
    loaded = agree()
    for parameter in layers.parameters():  # other memory, as the compiled step gives it
        parameter.data = parameter.data + 1
    moved = agree()
    for copied in (copy.deepcopy(layers), pickle.loads(pickle.dumps(layers))):
        again = ArrayPolicy(copied, copied, (4,))
        np.testing.assert_allclose(again(obs.numpy()), moved, rtol=1e-5, atol=1e-6)
    results = [before, after, loaded, moved]
    assert len({tuple(r.flatten().tolist()) for r in results}) == 4, "all differ"


def test_whoever_interrupts_leaves_the_parameters_to_the_next_call(monkeypatch):
    """It must not answer by the old ones, nor by none."""
    layers, numpy = MLP(NARROW), torch.Tensor.numpy
    policy, obs = ArrayPolicy(layers, layers, (3,)), np.ones((2, 3), np.float32)
    policy(obs)
    layers.layers[1].bias.data = torch.tensor([5.0, -5.0])

    def interrupted(*_):
        monkeypatch.setattr(torch.Tensor, "numpy", numpy)
        raise KeyboardInterrupt

    monkeypatch.setattr(torch.Tensor, "numpy", interrupted)
    with pytest.raises(KeyboardInterrupt):
        policy(obs)
    answer = layers(torch.from_numpy(obs)).detach().numpy()
    assert np.allclose(policy(obs), answer)
