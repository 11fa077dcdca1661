"""The dueling network: equation 9 with exact numbers, widths, learning."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from quick_tasks import learned_error

from yieldrl.algorithms import dueling_dqn
from yieldrl.algorithms.dueling_dqn.model import DuelingHead
from yieldrl.networks import MLP


def model_of(**kwargs):
    config = dueling_dqn.Config(**kwargs)
    return dueling_dqn.Model(Box(-1, 1, (4,), np.float32), Discrete(3), config)


def linear_head(per_action=1):
    head = DuelingHead(MLP, [2], num_actions=3, per_action=per_action)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.zero_()
    return head


def test_by_hand():
    head = linear_head()
    with torch.no_grad():
        head.state_value.layers[0].bias.fill_(5.0)
        head.advantage.layers[0].bias.copy_(torch.tensor([1.0, 2.0, 6.0]))
    # V + A - mean A = 5 + (1, 2, 6) - 3
    assert head(torch.zeros(2, 2)).tolist() == [[3.0, 4.0, 8.0]] * 2


def test_with_several_numbers_an_action_each_has_its_own_mean():
    head = linear_head(per_action=2)
    with torch.no_grad():
        head.state_value.layers[0].bias.copy_(torch.tensor([0.0, 100.0]))
        head.advantage.layers[0].bias.copy_(torch.tensor([1.0, 10, 2, 20, 6, 30]))
    # Means (3, 20); the numbers of an action stay side by side.
    assert head(torch.zeros(1, 2)).tolist() == [[-2.0, 90, -1, 100, 3, 110]]


@pytest.mark.parametrize(
    ("hidden", "shapes"),
    [
        ((), [(1, 4), (3, 4)]),
        ((9, 8), [(9, 4), (8, 9), (1, 8), (8, 9), (3, 8)]),
    ],
)
def test_streams_have_the_last_hidden_layer_to_themselves(hidden, shapes):
    model = model_of(hidden_sizes=hidden)
    found = [tuple(p.shape) for p in model.parameters() if p.ndim == 2]
    assert found == shapes
    assert model.value(torch.randn(5, 4)).shape == (5, 3)
    assert model.value(torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1])).shape == (5,)


def test_it_learns_the_values_of_a_corridor():
    assert learned_error(dueling_dqn) < 0.02
