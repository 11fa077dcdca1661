"""Gradients of a large batch from small parts, and moments of them."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tensordict import TensorDict
from torch import nn

from yieldrl.core.gradient_step import accumulate_gradients
from yieldrl.core.running_statistics import combine_moments, masked_moments


def learner():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()

    def loss(data):
        error = (model(data["obs"]).squeeze(1) - data["returns"]).square()
        data["error"] = error.detach()
        data["seen"] += 1
        return error.mean(), {"loss": error.detach().mean(), "one": 1.0}

    return list(model.parameters()), loss


def batch(size):
    generator = torch.Generator().manual_seed(size)
    obs = torch.randn(size, 3, dtype=torch.float64, generator=generator)
    data = {"obs": obs, "returns": obs.sum(1), "seen": torch.zeros(size)}
    return TensorDict(data, [size])


def gradients(size, micro_batches=1):
    """Logs, gradients and the batch afterwards, in so many parts."""
    (trained, loss), data = learner(), batch(size)
    logs = accumulate_gradients(loss, data, trained, micro_batches)
    return logs, torch.cat([p.grad.flatten() for p in trained]), data


@settings(max_examples=40)
@given(st.integers(1, 12), st.integers(1, 15))
def test_any_cut_gives_the_gradients_of_the_whole_batch(size, parts):
    logs, whole, data = gradients(size)
    own_logs, own, written = gradients(size, parts)
    assert float((own - whole).abs().max()) < 1e-12
    assert own_logs.keys() == logs.keys()
    for name, value in logs.items():
        assert float(own_logs[name]) == pytest.approx(float(value), abs=1e-6)
    torch.testing.assert_close(written["error"], data["error"])
    assert written["seen"].tolist() == [1] * size


def test_the_loss_sees_parts_that_differ_by_one_at_most_and_nested_results_arrive():
    sizes = []
    weight = nn.Parameter(torch.ones(()))

    def loss(x):
        sizes.append(len(x))
        return (weight * x).mean(), {}

    accumulate_gradients(loss, torch.arange(10.0), [weight], 4)
    assert sizes == [2, 3, 2, 3]
    assert weight.grad.item() == pytest.approx(4.5)

    def nested(data):
        data["nested", "twice"] = 2 * data["nested", "x"]
        data["nested", "x"] = data["nested", "x"] + 1
        return (weight * data["nested", "x"]).mean(), {}

    data = TensorDict({"nested": {"x": torch.arange(3.0)}}, [3])
    accumulate_gradients(nested, data, [weight], 2)
    assert data["nested", "twice"].tolist() == [0, 2, 4]
    assert data["nested", "x"].tolist() == [1, 2, 3]


def test_moments_of_parts_combined_are_those_of_all_rows():
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(40, 3, dtype=torch.float64, generator=generator) * 5 + 2
    where = torch.rand(40, generator=generator) < 0.5
    mean, var, n = masked_moments(rows, where)
    torch.testing.assert_close(mean, rows[where].mean(0))
    torch.testing.assert_close(var, rows[where].var(0, correction=0))
    assert n == where.sum()
    other = masked_moments(rows, ~where)
    mean, var, n = combine_moments(mean, var, n, *other)
    torch.testing.assert_close(mean, rows.mean(0))
    torch.testing.assert_close(var, rows.var(0, correction=0))
    nobody = masked_moments(rows, torch.zeros(40, dtype=torch.bool))
    after = combine_moments(mean, var, n, *nobody)
    torch.testing.assert_close(after, (mean, var, n))
