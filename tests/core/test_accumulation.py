"""Gradients of a large batch from small parts, and of two losses in one step."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tensordict import TensorDict
from torch import nn

from yieldrl.core import AccumulatedStep, GradientStep, JointStep


def learner():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()

    def loss(data):
        error = (model(data["obs"]).squeeze(1) - data["returns"]).square()
        data["error"] = error.detach()
        data["seen"] += 1
        return error.mean(), {"loss": error.detach().mean(), "one": 1.0}

    return model, loss, torch.optim.SGD(model.parameters(), lr=0.1)


def batch(size):
    generator = torch.Generator().manual_seed(size)
    obs = torch.randn(size, 3, dtype=torch.float64, generator=generator)
    data = {"obs": obs, "returns": obs.sum(1), "seen": torch.zeros(size)}
    return TensorDict(data, [size])


def stepped(size, **options):
    """Logs, weights and the batch after one step, in so many parts, or whole."""
    model, loss, optimizer = learner()
    kind = AccumulatedStep if "micro_batches" in options else GradientStep
    data = batch(size)
    logs = kind(loss, optimizer, 0.5, **options)(data)
    weights = torch.cat([p.detach().flatten() for p in model.parameters()])
    return logs, weights, data


@settings(max_examples=40)
@given(st.integers(1, 12), st.integers(1, 15))
def test_any_cut_gives_the_step_of_the_whole_batch(size, parts):
    logs, weights, data = stepped(size)
    options = {"micro_batches": parts}
    own_logs, own, written = stepped(size, **options)
    assert float((own - weights).abs().max()) < 1e-12
    assert own_logs.keys() == logs.keys()
    for name, value in logs.items():
        assert float(own_logs[name]) == pytest.approx(float(value), abs=1e-6)
    torch.testing.assert_close(written["error"], data["error"])
    assert written["seen"].tolist() == [1] * size


def test_the_loss_sees_parts_that_differ_by_one_at_most():
    sizes = []
    weight = nn.Parameter(torch.ones(()))

    def loss(x):
        sizes.append(len(x))
        return (weight * x).mean(), {}

    optimizer = torch.optim.SGD([weight], lr=1.0)
    AccumulatedStep(loss, optimizer, micro_batches=4)(torch.arange(10.0))
    assert sizes == [2, 3, 2, 3]
    assert weight.item() == pytest.approx(1 - 4.5)
    assert torch.equal(stepped(5)[1], stepped(5, micro_batches=1)[1])  # bit by bit
    with pytest.raises(ValueError, match="micro_batches = 0"):
        stepped(4, micro_batches=0)


def test_results_in_nested_keys_arrive_too():
    weight = nn.Parameter(torch.ones(()))

    def loss(data):
        data["nested", "twice"] = 2 * data["nested", "x"]
        data["nested", "x"] = data["nested", "x"] + 1
        return (weight * data["nested", "x"]).mean(), {}

    data = TensorDict({"nested": {"x": torch.arange(3.0)}}, [3])
    optimizer = torch.optim.SGD([weight], lr=0.1)
    AccumulatedStep(loss, optimizer, micro_batches=2)(data)
    assert data["nested", "twice"].tolist() == [0, 2, 4]
    assert data["nested", "x"].tolist() == [1, 2, 3]


def of(weight, entry):
    def loss(data):
        return (weight * data[entry]).mean(), {entry: data[entry].mean()}

    return loss


@pytest.mark.parametrize(("micro_batches", "parts"), [(1, 1), (21, 6), (2, 3)])
def test_both_gradients_are_means_over_their_own_batches(micro_batches, parts):
    """Of 42 samples in 21 parts and of 12 in 6 it is the step of both wholes."""
    x = torch.arange(42.0) ** 2
    z = torch.arange(84.0).view(42, 2) ** 2
    world = TensorDict({"z": z}, [42, 2])
    first, second = nn.Parameter(torch.tensor(1.0)), nn.Parameter(torch.tensor(2.0))
    optimizer = torch.optim.SGD([first, second], lr=1.0)
    options = {"micro_batches": micro_batches, "parts": parts, "entry": "world"}
    step = JointStep(of(first, "x"), optimizer, beside=of(second, "z"), **options)
    logs = step(TensorDict({"x": x, "world": world}, [42]))
    torch.testing.assert_close(first.data, 1 - x.mean())
    torch.testing.assert_close(second.data, 2 - z.mean())
    torch.testing.assert_close(logs["z"], z.mean())


def test_they_are_clipped_together():
    weights = [nn.Parameter(torch.tensor(0.0)) for _ in range(2)]
    data = TensorDict({"x": torch.tensor([3.0])}, [1])
    data["world"] = TensorDict({"z": torch.tensor([4.0])}, [1])
    losses, optimizer = map(of, weights, "xz"), torch.optim.SGD(weights, lr=1.0)
    options = {"micro_batches": 1, "parts": 1, "entry": "world"}
    loss, beside = losses
    logs = JointStep(loss, optimizer, 1.0, beside=beside, **options)(data)
    assert float(logs["grad_norm"]) == 5
    torch.testing.assert_close(torch.stack(weights), torch.tensor([-0.6, -0.8]))
