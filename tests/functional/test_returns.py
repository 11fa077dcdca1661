"""Advantages and returns: exact numbers by hand, then a slow reference."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from yieldrl.functional import (
    discounted_returns,
    explained_variance,
    gae,
    n_step_returns,
    returns_within,
)

FEW = settings(max_examples=60)
LAMBDAS = st.sampled_from([0.0, 0.5, 0.95, 1.0])
GAMMAS = st.sampled_from([0.0, 0.9, 0.99, 1.0])


def column(*numbers):
    return torch.tensor(numbers, dtype=torch.float32).unsqueeze(1)


def flags(*ones):
    return torch.tensor(ones, dtype=torch.bool).unsqueeze(1)


def advantage_by_definition(data, gamma, gae_lambda):
    """A_t = sum_k (gamma lambda)^k delta_{t+k}, summed forward to the episode's end."""
    steps, count = data["reward"].shape
    result = np.zeros((steps, count))
    for t, n in np.ndindex(steps, count):
        weight = 1.0
        for k in range(t, steps):
            if not data["valid"][k, n]:
                break
            future = 0.0 if data["terminated"][k, n] else data["next_value"][k, n]
            delta = data["reward"][k, n] + gamma * future - data["value"][k, n]
            result[t, n] += weight * delta
            if data["terminated"][k, n] or data["truncated"][k, n]:
                break
            weight *= gamma * gae_lambda
    return result


def return_by_definition(data, gamma):
    """G_t = r_t + gamma r_{t+1} + ..., and the value of what was not seen any more."""
    steps, count = data["reward"].shape
    result = np.zeros((steps, count))
    for t, n in np.ndindex(steps, count):
        weight = 1.0
        for k in range(t, steps):
            result[t, n] += weight * data["reward"][k, n]
            weight *= gamma
            if data["terminated"][k, n]:
                break
            if data["truncated"][k, n] or k == steps - 1:
                result[t, n] += weight * data["next_value"][k, n]
                break
    return result


@st.composite
def rollouts(draw):
    steps, count = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    numbers = {
        name: rng.normal(size=(steps, count)).astype(np.float32)
        for name in ("reward", "value", "next_value")
    }
    rate = draw(st.sampled_from([0.0, 0.3, 1.0]))  # 1: every step ends an episode
    ends = {
        name: rng.random((steps, count)) < rate for name in ("terminated", "truncated")
    }
    return {**numbers, **ends, "valid": rng.random((steps, count)) < 0.7}


def tensors(data, *names):
    return [torch.from_numpy(data[name]) for name in names]


ALL = ("reward", "value", "next_value", "terminated", "truncated")


def test_by_hand_with_both_kinds_of_end():
    # gamma = lambda = 0.5, so that all numbers are exact in binary.
    advantage = gae(
        column(1, 2, 1, 4),
        column(2, 0, 4, 8),
        column(4, 8, 2, 16),
        flags(0, 1, 0, 0),
        flags(0, 0, 1, 0),
        gamma=0.5,
        gae_lambda=0.5,
    )
    last = 4 + 0.5 * 16 - 8
    cut = 1 + 0.5 * 2 - 4  # truncated: V' counts, the next row does not
    over = 2 - 0
    first = (1 + 0.5 * 4 - 2) + 0.25 * over
    assert advantage.squeeze(1).tolist() == [first, over, cut, last]


@FEW
@given(data=rollouts(), some=st.booleans(), gamma=GAMMAS, gae_lambda=LAMBDAS)
def test_equals_the_definition(data, some, gamma, gae_lambda):
    """Steps that only reset cut, and get nothing."""
    if not some:
        data["valid"][:] = True
    valid = tensors(data, "valid") if some else ()
    advantage = gae(*tensors(data, *ALL), gamma, gae_lambda, *valid)
    assert advantage.dtype == torch.float32
    expected = advantage_by_definition(data, gamma, gae_lambda)
    np.testing.assert_allclose(advantage, expected, rtol=1e-5, atol=1e-5)
    assert (advantage.numpy()[~data["valid"]] == 0).all()


def test_critics_get_no_gradient_through_their_own_targets():
    """An advantage with a graph would push the critic from inside the policy loss."""
    value, gamma = torch.rand(2, 4, 2, requires_grad=True)
    ones, no = torch.ones(4, 2), torch.zeros(4, 2, dtype=torch.bool)
    for discount in (0.9, gamma):  # which may be learned
        assert not gae(ones, value, value, no, no, discount, 0.9).requires_grad
        assert not discounted_returns(ones, value, no, no, discount).requires_grad


def test_arguments_are_left_as_they_were():
    data = {name: torch.randn(5, 3) for name in ALL[:3]}
    data |= {name: torch.rand(5, 3) < 0.5 for name in ALL[3:]}
    valid = torch.rand(5, 3) < 0.5
    before = [x.clone() for x in (*data.values(), valid)]
    gae(*data.values(), 0.9, 0.9, valid)
    discounted_returns(
        *(data[n] for n in ("reward", "next_value", "terminated", "truncated")), 0.9
    )
    for old, new in zip(before, (*data.values(), valid), strict=True):
        assert torch.equal(old, new)


def test_discounts_of_chunks_by_hand():
    """Chunks of 1, 2, 1 and 3 actions: gamma = 1/2 to the power of their lengths."""
    gamma = column(1 / 2, 1 / 4, 1 / 2, 1 / 8)
    reward, value = column(1, 2, 1, 4), column(2, 0, 4, 8)
    next_value = column(0, 8, 2, 16)
    ends = flags(0, 0, 0, 0), flags(0, 1, 0, 0)
    advantage = gae(reward, value, next_value, *ends, gamma, gae_lambda=0.5)
    last = 4 + 16 / 8 - 8
    third = (1 + 2 / 2 - 4) + 0.5 * 0.5 * last
    cut = 2 + 8 / 4 - 0
    first = (1 + 0 / 2 - 2) + 0.5 * 0.5 * cut
    assert advantage.squeeze(1).tolist() == [first, cut, third, last]
    returned = discounted_returns(reward, next_value, *ends, gamma)
    last = 4 + 16 / 8
    third = 1 + last / 2
    cut = 2 + 8 / 4
    assert returned.squeeze(1).tolist() == [1 + cut / 2, cut, third, last]


@FEW
@given(data=rollouts(), gamma=GAMMAS, gae_lambda=LAMBDAS)
def test_a_constant_discount_is_that_number(data, gamma, gae_lambda):
    parts, valid = tensors(data, *ALL), tensors(data, "valid")[0]
    constant = torch.full_like(parts[0], gamma)
    expected = gae(*parts, gamma, gae_lambda, valid)
    for each in (constant, torch.tensor(gamma)):
        got = gae(*parts, each, gae_lambda, valid)
        torch.testing.assert_close(got, expected, rtol=1e-6, atol=1e-6)
    parts = [parts[0], *parts[2:]]
    expected = discounted_returns(*parts, gamma)
    for each in (constant, torch.tensor(gamma)):
        assert torch.equal(discounted_returns(*parts, each), expected)


def test_discounts_of_another_shape_are_refused():
    ones, no = torch.ones(4, 4), torch.zeros(4, 4, dtype=torch.bool)
    for wrong in (torch.ones(4), torch.ones(4, 1), torch.ones(1, 4)):
        for call in (
            lambda gamma: gae(ones, ones, ones, no, no, gamma, 0.9),
            lambda gamma: discounted_returns(ones, ones, no, no, gamma),
        ):
            with pytest.raises(ValueError, match=r"gamma has the shape .* \[4, 4\]"):
                call(wrong)


def test_explained_variance_by_hand():
    goals = column(1, 2, 3, 4)
    assert explained_variance(goals, goals).item() == 1
    assert explained_variance(goals + 7, goals).item() == 1, "only what varies counts"
    assert explained_variance(0 * goals, goals).item() == 0
    assert explained_variance(-goals, goals).item() == 1 - 4
    assert explained_variance(column(1, 2, 3, 3), goals).item() == pytest.approx(
        1 - (3 / 16) / (5 / 4)
    )


@pytest.mark.parametrize("constant", [0.0, 0.1, -1e6, 3e-30])
def test_nothing_to_explain_is_zero(constant):
    goals = torch.full((128, 8), constant)
    for value in (goals, torch.randn(128, 8)):
        assert explained_variance(value, goals).item() == 0
    assert explained_variance(torch.ones(1, 1), torch.ones(1, 1)).item() == 0


@FEW
@given(seed=st.integers(0, 999), shift=st.sampled_from([0.0, 100.0]))
def test_explained_variance_of_what_is_valid(seed, shift):
    rng = np.random.default_rng(seed)
    goals, value = rng.normal(size=(2, 9, 3)).astype(np.float32) + np.float32(shift)
    valid = rng.random((9, 3)) < 0.6
    valid[:2, 0] = True
    expected = 1 - (goals - value)[valid].var() / goals[valid].var()
    value[~valid], goals[~valid] = np.inf, np.nan
    got = explained_variance(*(torch.from_numpy(x) for x in (value, goals, valid)))
    assert got.item() == pytest.approx(expected, rel=1e-2, abs=1e-2)


def test_explained_variance_has_no_graph():
    value = torch.randn(4, 2, requires_grad=True)
    explained = explained_variance(value, value * 2)
    assert not explained.requires_grad
    nobody = torch.zeros(4, 2, dtype=torch.bool)
    assert explained_variance(value, value * 2, nobody).item() == 0


def test_returns_by_hand():
    returned = discounted_returns(
        column(1, 2, 4, 8, 16),
        column(100, 100, 100, 100, 32),
        flags(0, 1, 0, 0, 0),
        flags(0, 0, 0, 1, 0),
        gamma=0.5,
    )
    cut = 8 + 0.5 * 100
    assert returned.squeeze(1).tolist() == [1 + 0.5 * 2, 2, 4 + 0.5 * cut, cut, 32]


@FEW
@given(data=rollouts(), gamma=GAMMAS)
def test_returns_equal_the_definition(data, gamma):
    names = ("reward", "next_value", "terminated", "truncated")
    returned = discounted_returns(*tensors(data, *names), gamma)
    expected = return_by_definition(data, gamma)
    np.testing.assert_allclose(returned, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_no_look_at_the_numbers(device):
    """On "meta" there are no numbers: whatever synchronises with a GPU raises there."""
    data = [torch.zeros(4, 2, device=device) for _ in ALL[:3]]
    data += [torch.zeros(4, 2, dtype=torch.bool, device=device) for _ in range(3)]
    assert gae(*data[:5], 0.9, 0.9, data[5]).shape == (4, 2)
    assert discounted_returns(data[0], *data[2:5], 0.9).shape == (4, 2)
    each = torch.full((4, 2), 0.9, device=device)
    assert gae(*data[:5], each, 0.9, data[5]).shape == (4, 2)
    assert discounted_returns(data[0], *data[2:5], each).shape == (4, 2)
    assert explained_variance(data[0], data[1], data[5]).shape == ()


@settings(max_examples=60)
@given(st.data(), st.integers(1, 5), GAMMAS)
def test_n_step_returns_equal_the_definition(data, n, gamma):
    count = 6
    rewards = st.lists(st.floats(-9, 9, width=32), min_size=n, max_size=n)
    reward = torch.tensor([data.draw(rewards) for _ in range(count)])
    ends = st.lists(st.booleans(), min_size=n, max_size=n)
    ended = torch.tensor([data.draw(ends) for _ in range(count)])
    powers = torch.tensor([gamma**k for k in range(n + 1)])
    by_power = n_step_returns(reward, ended, powers)
    by_product = n_step_returns(reward, ended, powers.expand(count, -1))
    for b in range(count):
        flags = ended[b].tolist()
        length = flags.index(True) + 1 if True in flags else n
        expected = sum(gamma**k * float(reward[b, k]) for k in range(length))
        for returned, discount, steps in (by_power, by_product):
            assert steps[b] == length
            assert float(returned[b]) == pytest.approx(expected, abs=1e-4)
            assert float(discount[b]) == pytest.approx(gamma**length)


def test_returns_from_each_action_of_a_chunk_by_hand():
    """After its three actions 18 follow: 2 + 18 / 2, 0.5 + 11 / 2, 1 + 6 / 2."""
    rewards = torch.tensor([[1.0, 0.5, 2.0], [0.0, 0.0, 0.0]])
    found = returns_within(torch.tensor([4.0, 1.0]), rewards, 0.5)
    assert found.tolist() == [[4, 6, 11], [1, 2, 4]]
