"""A learning rate that follows the KL divergence: rsl_rl's rule, with exact numbers."""

from types import SimpleNamespace

import pytest

from yieldrl.algorithms.rollouts import adapt_learning_rate


@pytest.mark.parametrize(
    ("rate", "approx_kl", "expected"),
    [
        (3e-3, 0.021, 2e-3),  # over twice as far as desired
        (3e-3, 0.02, 3e-3),
        (3e-3, 0.005, 3e-3),
        (2e-3, 0.004, 3e-3),  # less than half
        (1.2e-5, 1.0, 1e-5),  # the limits
        (9e-3, 0.0, 1e-2),
        (3e-3, -1e-8, 4.5e-3),  # zero, to rounding
        (3e-3, float("inf"), 2e-3),
        (3e-3, float("nan"), 3e-3),
    ],
)
def test_one_step(rate, approx_kl, expected):
    algorithm = SimpleNamespace(learning_rate=rate)
    adapt_learning_rate(algorithm, approx_kl, desired_kl=0.01)
    assert algorithm.learning_rate == pytest.approx(expected)
