"""C51's target and loss with exact numbers; its config; learning."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from tables import steps
from torch import nn

from yieldrl.algorithms import c51


class Table(nn.Module):
    """Logits for observations that are row numbers; probabilities make it up."""

    def __init__(self, probability):
        super().__init__()
        self.logits = nn.Parameter(torch.tensor(probability).log().flatten(1))

    def forward(self, obs):
        return self.logits[obs[:, 0].long()]


CERTAIN, EVEN = [0.0, 0.0, 1.0, 0.0], [0.25, 0.25, 0.25, 0.25]  # Q = 2, Q = 1.5
LOW, HIGH = [0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]  # Q = 0.5, Q = 2.5


def algorithm_of(online, target):
    """Probabilities `[row, action, atom]` of the network and of its target."""
    config = c51.Config(num_atoms=4, v_min=0.0, v_max=3.0)
    model = c51.Model(Box(0, 9, (1,), np.float32), Discrete(2), config)
    model.head = Table(target)
    algorithm = c51.Algorithm(model, config)
    algorithm.model.head = Table(online)
    return algorithm


def batch(reward, discount, terminated):
    return steps(reward, discount=discount, terminated=terminated)


class TestModel:
    def test_the_value_is_the_expectation_on_which_it_acts(self):
        algorithm = algorithm_of([[CERTAIN, EVEN], [LOW, HIGH]], [[EVEN, EVEN]])
        model, obs = algorithm.model, torch.tensor([[0.0], [1.0]])
        assert algorithm.predict(obs).tolist() == [0, 1]
        expected = torch.tensor([[2.0, 1.5], [0.5, 2.5]])
        torch.testing.assert_close(model.value(obs), expected)
        action = torch.tensor([1, 0])
        torch.testing.assert_close(model.value(obs, action), torch.tensor([1.5, 0.5]))
        assert model.logits(obs).shape == (2, 2, 4)
        assert torch.equal(model.logits(obs, action)[0], model.logits(obs)[0, 1])


def test_the_target_by_hand():
    # The target network prefers action 1, whose distribution is HIGH.
    algorithm = algorithm_of([[CERTAIN, LOW]], [[EVEN, HIGH]])
    data = batch([0.5, 0.5, 2.0, 0.0], [0.5, 0.25, 0.5, 1.0], [False, *[True] * 3])
    data["terminated"][3] = False
    expected = [
        [0.0, 0.25, 0.75, 0.0],  # .5 + .5 * (2, 3) = 1.5, 2: half each
        [0.5, 0.5, 0.0, 0.0],  # terminated: 0.5 for sure, whatever comes next
        [0.0, 0.0, 1.0, 0.0],  # terminated on an atom
        HIGH,
    ]
    torch.testing.assert_close(algorithm.td_target(data), torch.tensor(expected))


def test_the_loss_is_the_cross_entropy():
    algorithm = algorithm_of([[EVEN, LOW]], [[LOW, HIGH]])
    loss, elements = algorithm.element_loss(batch([9.0, 0.5], [1.0, 1.0], [True] * 2))
    # 3 for sure, and half-and-half between 0 and 1: both cost log 4 when all four
    # are held for equally likely, of which the second's own entropy is log 2.
    log2 = torch.tensor(2.0).log()
    torch.testing.assert_close(loss, torch.stack([2 * log2, 2 * log2]))
    torch.testing.assert_close(elements["kl"], torch.stack([2 * log2, log2]))
    torch.testing.assert_close(elements["q_value"], torch.tensor([1.5, 1.5]))
    torch.testing.assert_close(elements["td_error"], torch.tensor([1.5, 1.0]))
    assert not any(metric.requires_grad for metric in elements.values())


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"num_atoms": 1}, r"num_atoms = 1: .* equal to 2"),
        ({"v_min": 100.0}, r"v_min = 100.0: it must lie below v_max = 100.0"),
    ],
)
def test_a_bad_config_is_refused(kwargs, message):
    with pytest.raises(ValueError, match=message):
        c51.Config.from_dict(kwargs)
