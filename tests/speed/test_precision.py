"""What `precision` rounds, and what it leaves as it is."""

import copy

import pytest
import torch
from torch import nn

from yieldrl.networks import MLP, GradientStep
from yieldrl.speed import CompiledStep, Plan, in_precision
from yieldrl.speed.precision import spelled

CPU = torch.device("cpu")
ODD = 1 + 2**-9  # needs ten binary digits; bfloat16 has eight


def test_float32_is_the_function_itself():
    assert in_precision("float32", CPU, torch.mm) is torch.mm


def test_products_are_rounded_and_sums_are_not():
    def both(x):
        return x @ x, x + x

    x = torch.tensor([[ODD]])
    product, total = in_precision("bfloat16", CPU, both)(x)
    assert product.dtype == torch.float32
    assert product.item() == 1.0
    assert total.item() == 2 * ODD


def test_gradients_go_through_rounded_products_into_float32():
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
    def __init__(self, model, precision, make_step):
        self.model = model
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01, fused=True)
        self.step = make_step(in_precision(precision, CPU, self.loss), optimizer)

    def loss(self, data):
        loss = (self.model(data["x"]).squeeze(1) - data["y"]).square().mean()
        return loss, {"loss": loss.detach()}


def test_a_compiled_step_rounds_like_an_eager_one(traced):
    torch.manual_seed(0)
    model = MLP([3, 32, 1])
    data = {"x": torch.randn(64, 3), "y": torch.randn(64)}
    plan = Plan("compile", 1, lambda: 0)
    learners = [
        Learner(copy.deepcopy(model), "float32", GradientStep),
        Learner(copy.deepcopy(model), "bfloat16", GradientStep),
    ]
    compiled = Learner(model, "bfloat16", GradientStep)
    compiled.step = CompiledStep(
        compiled.step.loss, compiled.step.optimizer, None, model, plan
    )
    losses = [
        [one.step(dict(data))["loss"].item() for _ in range(5)]
        for one in (*learners, compiled)
    ]
    assert len(traced) == 1
    torch.testing.assert_close(losses[1], losses[2], rtol=1e-4, atol=0)
    assert losses[0] != losses[1]
    torch.testing.assert_close(losses[0], losses[1], rtol=0.02, atol=0)
    assert all(p.dtype == torch.float32 for p in model.parameters())


def test_code_is_told_apart_by_it():
    learner = Learner(MLP([1, 1]), "float32", lambda *_: None)
    plain = spelled(learner.loss)
    rounded = spelled(in_precision("bfloat16", CPU, learner.loss))
    assert plain == (Learner, "loss", False)
    assert rounded == (Learner, "loss", True)
