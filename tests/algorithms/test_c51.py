"""C51's projection, target and loss with exact numbers; its config; learning."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_tasks import learned_error
from tensordict import TensorDict
from torch import nn

from yieldrl.algorithms import c51
from yieldrl.algorithms.c51.algorithm import project

FEW = settings(max_examples=60)
ATOMS = torch.tensor([0.0, 1.0, 2.0, 3.0])


class TestProjection:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (0.0, [1.0, 0.0, 0.0, 0.0]),
            (2.0, [0.0, 0.0, 1.0, 0.0]),  # an atom's own return: all of it
            (3.0, [0.0, 0.0, 0.0, 1.0]),
            (0.25, [0.75, 0.25, 0.0, 0.0]),
            (2.5, [0.0, 0.0, 0.5, 0.5]),
            (-7.0, [1.0, 0.0, 0.0, 0.0]),
            (9.0, [0.0, 0.0, 0.0, 1.0]),
        ],
    )
    def test_of_one_return(self, value, expected):
        probability = torch.tensor([[0.0, 1.0, 0.0, 0.0]])
        found = project(probability, torch.full((1, 4), value), ATOMS)
        assert found.tolist() == [expected]

    def test_of_many_returns_that_meet(self):
        probability = torch.tensor([[0.1, 0.2, 0.3, 0.4], [1.0, 0.0, 0.0, 0.0]])
        returns = torch.tensor([[0.5, 1.0, 1.5, 9.0], [2.0, 0.0, 0.0, 0.0]])
        # .1 halved; .2 whole; .3 halved; .4 cut off. Rows do not mix.
        expected = torch.tensor([[0.05, 0.4, 0.15, 0.4], [0.0, 0.0, 1.0, 0.0]])
        torch.testing.assert_close(project(probability, returns, ATOMS), expected)

    def test_atoms_may_lie_anywhere(self):
        found = project(
            torch.tensor([[0.5, 0.5]]),
            torch.tensor([[-2.0, -5.0]]),
            torch.tensor([-10.0, 0.0]),
        )
        # -2 is 0.8 of the way up, -5 is half.
        torch.testing.assert_close(found, torch.tensor([[0.35, 0.65]]))

    def test_it_is_equation_7(self):
        generator = torch.Generator().manual_seed(0)
        atoms = torch.linspace(-10, 10, 51, dtype=torch.float64)
        probability = torch.rand(40, 51, generator=generator).double().softmax(1)
        reward = torch.randn(40, 1, generator=generator).double() * 5
        returns = reward + 0.9 * atoms
        clipped = returns.clamp(-10, 10)
        share = (1 - (clipped[:, None] - atoms[:, None]).abs() / 0.4).clamp(0, 1)
        expected = (share * probability[:, None]).sum(2)
        torch.testing.assert_close(project(probability, returns, atoms), expected)

    @FEW
    @given(
        st.lists(st.floats(0, 1), min_size=2, max_size=60),
        st.floats(-100, 100),
        st.floats(0, 1),
        st.floats(-50, 50),
        st.floats(0.1, 100),
    )
    def test_probability_and_mean_are_kept(self, shares, reward, discount, low, width):
        atoms = torch.linspace(low, low + width, len(shares), dtype=torch.float64)
        probability = torch.tensor([shares], dtype=torch.float64) + 0.01
        probability /= probability.sum()
        returns = reward + discount * atoms.unsqueeze(0)
        projected = project(probability, returns, atoms)
        assert (projected >= 0).all()
        torch.testing.assert_close(projected.sum(), probability.sum())
        mean = (probability * returns.clamp(atoms[0], atoms[-1])).sum()
        torch.testing.assert_close((projected * atoms).sum(), mean, atol=1e-9, rtol=0)

    @FEW
    @given(st.integers(2, 60), st.floats(-50, 50), st.floats(0.1, 100))
    def test_the_atoms_themselves_stay_where_they_are(self, count, low, width):
        atoms = torch.linspace(low, low + width, count, dtype=torch.float64)
        probability = torch.rand(3, count, dtype=torch.float64).softmax(1)
        projected = project(probability, atoms.expand(3, -1), atoms)
        torch.testing.assert_close(projected, probability, atol=1e-9, rtol=0)


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
    size = len(reward)
    return TensorDict(
        {
            "obs": torch.zeros(size, 1),
            "action": torch.zeros(size, dtype=torch.long),
            "next_obs": torch.zeros(size, 1),
            "reward": torch.tensor(reward),
            "discount": torch.tensor(discount),
            "terminated": torch.tensor(terminated),
            "truncated": ~torch.tensor(terminated),
        },
        [size],
    )


class TestModel:
    def test_the_value_is_the_expectation(self):
        model = algorithm_of([[CERTAIN, EVEN], [LOW, HIGH]], [[EVEN, EVEN]]).model
        obs = torch.tensor([[0.0], [1.0]])
        torch.testing.assert_close(
            model.value(obs), torch.tensor([[2.0, 1.5], [0.5, 2.5]])
        )
        action = torch.tensor([1, 0])
        torch.testing.assert_close(model.value(obs, action), torch.tensor([1.5, 0.5]))
        assert model.logits(obs).shape == (2, 2, 4)
        assert torch.equal(model.logits(obs, action)[0], model.logits(obs)[0, 1])

    def test_it_acts_on_the_expectation(self):
        algorithm = algorithm_of([[CERTAIN, EVEN], [LOW, HIGH]], [[EVEN, EVEN]])
        assert algorithm.predict(torch.tensor([[0.0], [1.0]])).tolist() == [0, 1]

    def test_atoms_come_from_the_config(self):
        config = c51.Config(num_atoms=5, v_min=-2.0, v_max=2.0)
        model = c51.Model(Box(-1, 1, (3,), np.float32), Discrete(2), config)
        assert model.atoms.tolist() == [-2.0, -1.0, 0.0, 1.0, 2.0]
        assert model.logits(torch.zeros(7, 3)).shape == (7, 2, 5)


class TestTarget:
    def test_by_hand(self):
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

    def test_the_discount_is_the_datas(self):
        """As n-step returns need it: gamma^n, another one for every transition."""
        algorithm = algorithm_of([[CERTAIN, LOW]], [[LOW, CERTAIN]])  # Z' = 2
        data = batch([1.0, 1.0, 1.0], [0.5, 0.25, 0.0], [False] * 3)
        expected = [[0.0, 0, 1, 0], [0.0, 0.5, 0.5, 0], [0.0, 1, 0, 0]]
        torch.testing.assert_close(algorithm.td_target(data), torch.tensor(expected))

    def test_next_action_gets_the_targets_expectations(self):
        algorithm, seen = algorithm_of([[LOW, HIGH]], [[CERTAIN, EVEN]]), []

        def next_action(data, target_q_value):
            seen.append(target_q_value)
            return torch.ones(len(data), dtype=torch.long)

        algorithm.next_action = next_action
        target = algorithm.td_target(batch([0.0], [1.0], [False]))
        torch.testing.assert_close(seen[0], torch.tensor([[2.0, 1.5]]))
        torch.testing.assert_close(target, torch.tensor([EVEN]))


class TestLoss:
    def test_it_is_the_cross_entropy(self):
        algorithm = algorithm_of([[EVEN, LOW]], [[LOW, HIGH]])
        loss, elements = algorithm.element_loss(
            batch([9.0, 0.5], [1.0, 1.0], [True] * 2)
        )
        # 3 for sure, and half-and-half between 0 and 1: both cost log 4 when all four
        # are held for equally likely, of which the second's own entropy is log 2.
        log2 = torch.tensor(2.0).log()
        torch.testing.assert_close(loss, torch.stack([2 * log2, 2 * log2]))
        torch.testing.assert_close(elements["kl"], torch.stack([2 * log2, log2]))
        torch.testing.assert_close(elements["q_value"], torch.tensor([1.5, 1.5]))
        torch.testing.assert_close(elements["td_error"], torch.tensor([1.5, 1.0]))
        assert not any(metric.requires_grad for metric in elements.values())

    def test_its_gradient_is_prediction_less_target(self):
        algorithm = algorithm_of([[EVEN, LOW]], [[LOW, HIGH]])
        algorithm.loss(batch([2.0], [1.0], [True]))[0].backward()
        head = algorithm.model.head
        assert isinstance(head, Table)
        assert head.logits.grad is not None
        # softmax - target for the action taken, nothing for the other.
        expected = torch.tensor([[0.25, 0.25, -0.75, 0.25, 0, 0, 0, 0]])
        torch.testing.assert_close(head.logits.grad, expected)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"num_atoms": 1}, r"num_atoms = 1: choose a number at least 2"),
        ({"v_min": 100.0}, r"v_min = 100.0: it must lie below v_max = 100.0"),
    ],
)
def test_a_bad_config_is_refused(kwargs, message):
    with pytest.raises(ValueError, match=message):
        c51.Config(**kwargs)


def test_it_learns_the_values_of_a_corridor():
    assert learned_error(c51, v_min=0.0, v_max=2.0, num_atoms=21) < 0.02
