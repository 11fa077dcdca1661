"""Probability moves to the nearest atoms, and its mean stays."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from yieldrl.functional import project

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
