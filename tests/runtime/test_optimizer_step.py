"""The short way of Adam's step: what PyTorch's own step does, to the bit, or that."""

import copy

import pytest
import torch
from torch import nn
from torch.optim import Adam, AdamW
from torch.optim.optimizer import register_optimizer_step_post_hook

from yieldrl.runtime import optimizer_step
from yieldrl.runtime.optimizer_step import drop_gradients, take_step

PLAIN = {
    "adam": lambda p: Adam(p, lr=0.01, eps=1e-5, fused=True),
    "adamw": lambda p: AdamW(p, lr=0.01, weight_decay=0.1, fused=True),
    "maximize": lambda p: Adam(p, lr=0.01, maximize=True, betas=(0.5, 0.7), fused=True),
    "groups": lambda p: Adam(
        [{"params": p[:1]}, {"params": p[1:], "lr": 0.5}], lr=0.01, fused=True
    ),
}
OTHERS = {
    "amsgrad": lambda p: Adam(p, amsgrad=True, fused=True),
    "not fused": lambda p: Adam(p, lr=0.01),
    "sgd": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9),
    "subclass": lambda p: type("Own", (Adam,), {})(p, lr=0.01, fused=True),
}


def parameters(dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    shapes = (3, 4), (4,), (2, 2)
    drawn = [torch.randn(s, generator=generator, dtype=dtype) for s in shapes]
    return [nn.Parameter(x) for x in drawn]


def fill(parameters, step):
    for i, parameter in enumerate(parameters):
        generator = torch.Generator().manual_seed(100 * step + i)
        drawn = torch.randn(parameter.shape, generator=generator)
        parameter.grad = drawn.to(parameter.dtype)
    if step % 3 == 2:  # one that the loss did not depend on
        parameters[1].grad = None


def same_state(one, two):
    assert one.state_dict().keys() == two.state_dict().keys()
    for a, b in zip(
        one.state_dict()["state"].values(),
        two.state_dict()["state"].values(),
        strict=True,
    ):
        assert all(torch.equal(a[name], b[name]) for name in a.keys() | b.keys())


@pytest.fixture
def short(monkeypatch):
    """How many kernels were called without PyTorch's step."""
    calls, find = [], optimizer_step._kernel_calls

    def noted(optimizer):
        found = find(optimizer)
        calls.append(0 if found is None else len(found))
        return found

    monkeypatch.setattr(optimizer_step, "_kernel_calls", noted)
    return calls


@pytest.mark.parametrize(
    ("name", "dtype"),
    [*((name, torch.float32) for name in (*PLAIN, *OTHERS)), ("adam", torch.float64)],
)
def test_it_is_the_optimizers_own_step_to_the_bit(name, dtype, short):
    make = (PLAIN | OTHERS)[name]
    own, theirs = parameters(dtype), parameters(dtype)
    mine, reference = make(own), make(theirs)
    for step in range(7):
        fill(own, step)
        fill(theirs, step)
        take_step(mine)
        reference.step()
        drop_gradients(mine)
        assert all(p.grad is None for p in own)
        for group in (*mine.param_groups, *reference.param_groups):
            group["lr"] = group["lr"] * 0.9  # annealed
    assert all(torch.equal(a, b) for a, b in zip(own, theirs, strict=True))
    same_state(mine, reference)
    # The first step is PyTorch's, which makes the state.
    takes_it = name in PLAIN and dtype == torch.float32
    assert (sum(short) > 0) == takes_it


def begun():
    own = parameters()
    optimizer = Adam(own, lr=0.01, fused=True)
    fill(own, 0)
    take_step(optimizer)
    fill(own, 1)
    return own, optimizer


def test_hooks_of_a_step_are_called(short):
    _, optimizer = begun()
    called = []
    before = optimizer.register_step_pre_hook(lambda *_: called.append("before"))
    optimizer.register_step_post_hook(lambda *_: called.append("after"))
    take_step(optimizer)
    assert called == ["before", "after"]
    before.remove()
    take_step(optimizer)
    assert called == ["before", "after", "after"]
    _, other = begun()
    hook = register_optimizer_step_post_hook(lambda *_: called.append("of all"))
    try:
        take_step(other)
    finally:
        hook.remove()
    assert called[3:] == ["of all"]


def test_a_step_that_somebody_has_wrapped_is_called():
    """As PyTorch's schedulers wrap it."""
    _, optimizer = begun()
    own, called = optimizer.step, []

    def wrapped(*args):
        called.append(len(args))
        return own(*args)

    optimizer.step = wrapped
    take_step(optimizer)
    assert called == [0]


def test_a_state_that_was_loaded_is_gone_on_from(short):
    own, optimizer = begun()
    saved = copy.deepcopy(optimizer.state_dict())
    theirs = [nn.Parameter(p.detach().clone()) for p in own]
    other = Adam(theirs, lr=0.5, fused=True)
    other.load_state_dict(saved)
    fill(theirs, 1)
    take_step(optimizer)
    take_step(other)
    assert short[-2:] == [1, 1]
    assert all(torch.equal(a, b) for a, b in zip(own, theirs, strict=True))
