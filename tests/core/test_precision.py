"""What `precision` rounds, and what it leaves as it is."""

import copy

import pytest
import torch
from torch import nn

from yieldrl.core import in_precision
from yieldrl.core.compiled import Compiled
from yieldrl.networks import MLP

CPU = torch.device("cpu")
ODD = 1 + 2**-9  # needs ten binary digits; bfloat16 has eight


def test_products_are_rounded_and_sums_are_not_and_gradients_are_float32():
    def both(x):
        return x @ x, x + x

    x = torch.tensor([[ODD]])
    product, total = in_precision("bfloat16", CPU, both)(x)
    assert product.dtype == torch.float32
    assert product.item() == 1.0
    assert total.item() == 2 * ODD
    weight = nn.Parameter(torch.tensor([[1.0]]))
    (in_precision("bfloat16", CPU, torch.mm)(torch.tensor([[ODD]]), weight)).backward()
    assert weight.grad.dtype == torch.float32
    assert weight.grad.item() == 1.0  # the input, as it was rounded


def test_a_gpu_without_such_numbers_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda emulated: emulated)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "GeForce 256")
    with pytest.raises(ValueError, match="GeForce 256 has no bfloat16; choose"):
        in_precision("bfloat16", torch.device("cuda"), torch.mm)


class Learner:
    def __init__(self, model, precision):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=0.01, fused=True)
        rounded = "float32" if precision == "float32" else "bfloat16"
        self.executed = in_precision(rounded, CPU, self.loss)
        if precision == "compiled":
            self.executed = Compiled("loss", self.executed)

    def step(self, data):
        loss, logs = self.executed(data)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return logs

    def loss(self, data):
        loss = (self.model(data["x"]).squeeze(1) - data["y"]).square().mean()
        return loss, {"loss": loss.detach()}


def losses_of(sizes):
    """Of steps in float32, in bfloat16, and compiled in bfloat16."""
    torch.manual_seed(0)
    model = MLP(sizes)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.bfloat16())  # so that these are not rounded
    data = {"x": ODD * torch.randint(-2, 3, (64, 3)).exp2(), "y": torch.zeros(64)}
    found = []
    for precision in ("float32", "bfloat16", "compiled"):
        learner = Learner(copy.deepcopy(model), precision)
        found.append([learner.step(dict(data))["loss"].item() for _ in range(5)])
        assert all(p.dtype == torch.float32 for p in learner.model.parameters())
    return found


def test_it_rounds_like_one_between_layers(traced):
    alone, rounded, compiled = losses_of([3, 32, 1])
    assert len(traced) == 1
    assert compiled[0] == pytest.approx(rounded[0], rel=2e-3)
    assert compiled == pytest.approx(rounded, rel=0.05)  # after steps of Adam
    assert alone == pytest.approx(rounded, rel=0.05)
    assert alone != rounded
