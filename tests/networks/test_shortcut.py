"""Which observations take the way past PyTorch."""

import numpy as np
import pytest
import torch
from torch import nn

from yieldrl.networks import MLP, Shortcut

NARROW = [3, 16, 2]  # 98 parameters


def greedy(layers):
    return lambda obs: layers(obs).argmax(1)


def rows(count, dtype=np.float32):
    return np.zeros((count, 3), dtype)


def test_a_few_rows_of_float32_take_it():
    layers = MLP(NARROW)
    shortcut = Shortcut(greedy(layers), layers, (3,))
    assert shortcut.max_rows == 510
    for obs in (rows(1), rows(510)):
        assert shortcut.takes(obs)
    others = [rows(0), rows(511), rows(1, np.float64), rows(1, np.uint8)]
    others += [np.zeros(3, np.float32), np.zeros((1, 4), np.float32)]
    others += [np.zeros((1, 1, 3), np.float32), np.float32(0), np.zeros((), np.float32)]
    others += [torch.zeros(1, 3), {"a": rows(1)}, [[0.0, 0.0, 0.0]]]
    for obs in others:
        assert not shortcut.takes(obs)


def test_wide_layers_are_pytorchs_work():
    layers = MLP([3, 256, 256, 2])
    assert not Shortcut(greedy(layers), layers, (3,)).takes(rows(1))


@pytest.mark.parametrize(
    "function",
    [
        lambda layers: lambda obs: torch.softmax(layers(obs), 1),
        lambda layers: lambda obs: layers(obs).unflatten(1, (2, 1)),
        lambda layers: lambda obs: torch.as_tensor(layers(obs)).argmax(1),
        lambda layers: lambda obs: nn.Linear(3, 2)(obs),
    ],
)
def test_what_wants_tensors_gets_tensors(function):
    layers = MLP(NARROW)
    assert not Shortcut(function(layers), layers, (3,)).takes(rows(1))


def test_nothing_to_compute():
    assert not Shortcut(lambda obs: obs, nn.Module(), (3,)).takes(rows(1))
