"""V-trace: numbers by hand, the paper's equations one step at a time, and GAE."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from yieldrl.functional import gae, vtrace

FEW = settings(max_examples=60)
LAMBDAS = st.sampled_from([0.0, 0.5, 0.95, 1.0])
GAMMAS = st.sampled_from([0.0, 0.9, 0.99, 1.0])
BARS = st.sampled_from([(1.0, 1.0), (2.0, 1.0), (0.5, 0.5), (1e9, 1e9)])
ALL = ("reward", "value", "next_value", "terminated", "truncated")


def column(*numbers):
    return torch.tensor(numbers, dtype=torch.float64).unsqueeze(1)


def flags(*ones):
    return torch.tensor(ones, dtype=torch.bool).unsqueeze(1)


def by_remark_one(data, gamma, gae_lambda, rho_bar, c_bar):
    """v_s = V(x_s) + delta_s V + gamma c_s (v_{s+1} - V(x_{s+1})), backwards."""
    steps, count = data["reward"].shape
    target, advantage = np.zeros((2, steps, count))
    for n in range(count):
        later = 0.0  # v_{s+1} - V(x_{s+1})
        for s in reversed(range(steps)):
            value, next_value = data["value"][s, n], data["next_value"][s, n]
            if not data["valid"][s, n]:
                target[s, n], later = value, 0.0
                continue
            if data["terminated"][s, n]:
                next_value, later = 0.0, 0.0
            if data["truncated"][s, n]:
                later = 0.0
            ratio = np.exp(data["log_ratio"][s, n])
            rho, c = min(rho_bar, ratio), gae_lambda * min(c_bar, ratio)
            delta = rho * (data["reward"][s, n] + gamma * next_value - value)
            target[s, n] = value + delta + gamma * c * later
            bootstrap = next_value + gae_lambda * later
            advantage[s, n] = rho * (data["reward"][s, n] + gamma * bootstrap - value)
            later = target[s, n] - value
    return advantage, target


@st.composite
def rollouts(draw):
    steps, count = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    data = {name: rng.normal(size=(steps, count)) for name in ALL[:3]}
    rate = draw(st.sampled_from([0.0, 0.3, 1.0]))  # 1: every step ends an episode
    data |= {name: rng.random((steps, count)) < rate for name in ALL[3:]}
    data["valid"] = rng.random((steps, count)) < 0.8
    data["log_ratio"] = rng.normal(size=(steps, count))
    return data


def tensors(data, *names):
    return [torch.from_numpy(data[name]) for name in names]


def test_by_hand_with_ratios_on_both_sides_of_the_thresholds():
    """gamma = 1/2, lambda = 1, rho_bar = 2, c_bar = 1; ratios 1/2, 4, 3/2."""
    no = flags(0, 0, 0)
    advantage, target = vtrace(
        column(0.5, 4, 1.5).log(),
        column(1, 2, 4),
        column(2, 4, 8),
        column(4, 8, 16),
        no,
        no,
        gamma=0.5,
        gae_lambda=1.0,
        rho_bar=2.0,
        c_bar=1.0,
    )
    # Errors r + V'/2 - V are 1, 2 and 4; rho is 1/2, 2, 3/2; c is 1/2, 1, 1.
    third = 8 + 1.5 * 4
    second = 4 + 2 * 2 + 0.5 * 1 * (third - 8)
    first = 2 + 0.5 * 1 + 0.5 * 0.5 * (second - 4)
    assert (first, second, third) == (4.25, 11, 14)
    torch.testing.assert_close(target, column(first, second, third))
    gains = [
        0.5 * (1 + 0.5 * second - 2),
        2 * (2 + 0.5 * third - 4),
        1.5 * (4 + 0.5 * 16 - 8),
    ]
    torch.testing.assert_close(advantage, column(*gains))


@FEW
@given(data=rollouts(), gamma=GAMMAS, gae_lambda=LAMBDAS, bars=BARS)
def test_equals_the_papers_recursion(data, gamma, gae_lambda, bars):
    parts, (valid, log_ratio) = tensors(data, *ALL), tensors(data, "valid", "log_ratio")
    advantage, target = vtrace(
        log_ratio, *parts, gamma, gae_lambda, valid, rho_bar=bars[0], c_bar=bars[1]
    )
    expected, goal = by_remark_one(data, gamma, gae_lambda, *bars)
    np.testing.assert_allclose(target, goal, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(advantage, expected, rtol=1e-6, atol=1e-6)
    assert (advantage.numpy()[~data["valid"]] == 0).all()


@FEW
@given(data=rollouts(), gamma=GAMMAS, gae_lambda=LAMBDAS)
def test_fresh_actions_give_gae_exactly(data, gamma, gae_lambda):
    parts = [
        part.float() if part.is_floating_point() else part
        for part in tensors(data, *ALL)
    ]
    (valid,) = tensors(data, "valid")
    expected = gae(*parts, gamma, gae_lambda, valid)
    ratio = torch.zeros_like(parts[0])
    got, target = vtrace(ratio, *parts, gamma, gae_lambda, valid)
    assert torch.equal(target, parts[1] + expected)
    torch.testing.assert_close(got, expected, rtol=1e-6, atol=1e-6)


def test_far_off_ratios_stay_within_the_thresholds():
    generator = torch.Generator().manual_seed(0)
    reward, value = torch.rand(2, 5, 1000, generator=generator)
    no = torch.zeros(5, 1000, dtype=torch.bool)
    far = 200 * torch.randn(5, 1000, generator=generator)  # its exponent overflows
    got = vtrace(far, reward, value, value, no, no, 0.9, 1.0)
    horizon = sum(0.9**k for k in range(5))
    for part in got:
        assert part.isfinite().all()
        assert part.abs().max() <= 1 + horizon
    never = torch.full_like(far, -torch.inf)  # what pi would never do teaches nothing
    advantage, target = vtrace(never, reward, value, value, no, no, 0.9, 1.0)
    assert (advantage == 0).all()
    assert torch.equal(target, value)


def test_a_discount_per_transition():
    data = [torch.rand(4, 2) for _ in range(3)]
    data += [torch.rand(4, 2) < 0.3 for _ in range(2)]
    log_ratio = torch.randn(4, 2)
    each = torch.full((4, 2), 0.9)
    for got, expected in zip(
        vtrace(log_ratio, *data, each, 0.8),
        vtrace(log_ratio, *data, 0.9, 0.8),
        strict=True,
    ):
        torch.testing.assert_close(got, expected)
    with pytest.raises(ValueError, match=r"gamma has the shape \[4\]"):
        vtrace(log_ratio, *data, torch.ones(4), 0.8)


def test_neither_critic_nor_policy_gets_a_gradient():
    value, log_ratio = torch.randn(2, 4, 3, requires_grad=True).unbind()
    no = torch.zeros(4, 3, dtype=torch.bool)
    got = vtrace(log_ratio, torch.ones(4, 3), value, value, no, no, 0.9, 0.9)
    assert not any(part.requires_grad for part in got)


def test_arguments_are_left_as_they_were():
    data = [torch.randn(5, 3) for _ in ALL[:3]]
    data += [torch.rand(5, 3) < 0.5 for _ in range(3)]
    log_ratio = torch.randn(5, 3)
    before = [x.clone() for x in (*data, log_ratio)]
    vtrace(log_ratio, *data[:5], 0.9, 0.9, data[5])
    for old, new in zip(before, (*data, log_ratio), strict=True):
        assert torch.equal(old, new)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_no_look_at_the_numbers(device):
    """On "meta" there are no numbers: whatever synchronises with a GPU raises there."""
    data = [torch.zeros(4, 2, device=device) for _ in ALL[:3]]
    data += [torch.zeros(4, 2, dtype=torch.bool, device=device) for _ in range(3)]
    got = vtrace(data[0], *data[:5], 0.9, 0.9, data[5])
    assert [part.shape for part in got] == [(4, 2), (4, 2)]
