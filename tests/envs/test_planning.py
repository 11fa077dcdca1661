"""Exact values: against arithmetic by hand, and against each other."""

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yieldrl.envs import policy_evaluation, value_iteration

# Action 0 stays and costs 1; action 1 wins 1 and ends with probability 1/2.
WALK = {
    0: {0: [(1.0, 0, -1.0, False)], 1: [(0.5, 0, 0.0, False), (0.5, 1, 1.0, True)]},
    1: {0: [(1.0, 1, 0.0, True)], 1: [(1.0, 1, 0.0, True)]},
}


def table_of(env_id, **kwargs):
    return gym.make(env_id, **kwargs).unwrapped.P


def test_by_hand():
    value, q_value = value_iteration(WALK, gamma=0.5)
    # V = 0.5 * 0.5 V + 0.5 gives 2/3; staying: -1 + 0.5 V.
    assert value == pytest.approx([2 / 3, 0])
    assert q_value == pytest.approx(np.array([[-2 / 3, 2 / 3], [0, 0]]))
    # Half and half: V = 0.5 (-1 + 0.5 V) + 0.5 (0.25 V + 0.5) = -0.25 + 0.375 V.
    even = np.full((2, 2), 0.5)
    assert policy_evaluation(WALK, even, gamma=0.5) == pytest.approx([-0.4, 0])
    assert policy_evaluation(WALK, np.array([0, 0]), 0.5) == pytest.approx([-2, 0])


def test_known_optima():
    assert value_iteration(table_of("CliffWalking-v1"), 1.0)[0][36] == -13
    value, _ = value_iteration(table_of("FrozenLake-v1"), 0.99)
    assert value[0] == pytest.approx(0.5420, abs=1e-4)
    stiff, _ = value_iteration(table_of("FrozenLake-v1", is_slippery=False), 0.9)
    assert stiff[0] == pytest.approx(0.9**5)  # six steps, the reward at the last


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), gamma=st.floats(0.0, 0.95))
def test_the_best_policy_is_worth_the_best_values(seed, gamma):
    rng = np.random.default_rng(seed)
    table = {
        state: {
            action: [
                (p, int(rng.integers(5)), float(rng.normal()), bool(rng.random() < 0.1))
                for p in rng.dirichlet(np.ones(3))
            ]
            for action in range(3)
        }
        for state in range(5)
    }
    value, q_value = value_iteration(table, gamma)
    best = policy_evaluation(table, q_value.argmax(1), gamma)
    assert best == pytest.approx(value, abs=1e-7)
    other = policy_evaluation(table, rng.dirichlet(np.ones(3), size=5), gamma)
    assert (other <= value + 1e-7).all()


def test_values_without_end_are_refused():
    endless = {0: {0: [(1.0, 0, 1.0, False)]}}
    with pytest.raises(ValueError, match=r"gamma = 1: .* choose a smaller one"):
        value_iteration(endless, 1)
    with pytest.raises(ValueError, match="goes on for ever"):
        policy_evaluation(WALK, np.array([0, 0]), 1)
    assert policy_evaluation(WALK, np.array([1, 0]), 1) == pytest.approx([1, 0])
