"""Two losses in one step, each in parts of its own batch."""

import pytest
import torch
from tensordict import TensorDict
from torch import nn

from yieldrl.runtime import JointStep


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
    step = JointStep(
        of(first, "x"),
        optimizer,
        micro_batches=micro_batches,
        beside=of(second, "z"),
        entry="world",
        parts=parts,
    )
    logs = step(TensorDict({"x": x, "world": world}, [42]))
    torch.testing.assert_close(first.data, 1 - x.mean())
    torch.testing.assert_close(second.data, 2 - z.mean())
    torch.testing.assert_close(logs["z"], z.mean())


def test_they_are_clipped_together():
    weights = [nn.Parameter(torch.tensor(0.0)) for _ in range(2)]
    data = TensorDict({"x": torch.tensor([3.0])}, [1])
    data["world"] = TensorDict({"z": torch.tensor([4.0])}, [1])
    step = JointStep(
        of(weights[0], "x"),
        torch.optim.SGD(weights, lr=1.0),
        1.0,
        micro_batches=1,
        beside=of(weights[1], "z"),
        entry="world",
        parts=1,
    )
    logs = step(data)
    assert float(logs["grad_norm"]) == 5
    torch.testing.assert_close(torch.stack(weights), torch.tensor([-0.6, -0.8]))
