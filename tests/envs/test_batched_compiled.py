"""The compiled step: whatever comes in, it is the eager one."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from worlds import Walk, blind

from yieldrl.envs import check

N = 4

pytestmark = [
    pytest.mark.slow,  # they compile
    pytest.mark.filterwarnings("ignore:`torch.jit.script_method`"),  # PyTorch's own
]


class Slide(Walk):
    """How hard it is pushed is a parameter."""

    def __init__(self, num_envs: int = N, force: Any = 1.0, **kwargs: Any) -> None:
        super().__init__(num_envs, **kwargs)
        self.force = self.parameter("force", force)

    def dynamics(self, state: Tensor, action: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return super().dynamics(state, self.force * action)


def pair(**kwargs: Any) -> tuple[Slide, Slide]:
    """An eager and a compiled one, both reset and stepped once."""
    both = blind(Slide(**kwargs)), Slide(**kwargs, compile=True)
    for envs in both:
        envs.reset(seed=0)
    same_step(*both)
    return both


@pytest.fixture(scope="module")
def compiled_once() -> tuple[Slide, Slide]:
    return pair()


@pytest.fixture
def both(compiled_once: tuple[Slide, Slide]) -> Iterator[tuple[Slide, Slide]]:
    """One pair for all tests, with its first force, and a step after a reset."""
    for envs in compiled_once:
        envs.force = torch.tensor(1.0)
        envs.reset(seed=0)
    same_step(*compiled_once)
    yield compiled_once
    for envs in compiled_once:
        envs.detach()


def same_step(eager: Slide, compiled: Slide) -> None:
    """Step both, and compare all that comes out."""
    action = torch.linspace(-1, 1, N, dtype=eager.dtype)
    these, those = eager.step(action), compiled.step(action)
    for this, that in zip(these[:4], those[:4], strict=True):
        torch.testing.assert_close(this, that)
    torch.testing.assert_close(these[4], those[4])
    torch.testing.assert_close(eager.state, compiled.state)


def test_gradients_flow_through_steps_after_one_without(both) -> None:
    eager, compiled = both
    grads = []
    for envs in (eager, compiled):
        start = torch.full((2, N), 0.1, requires_grad=True)
        envs.state = start
        _, reward, *_ = envs.step(torch.full((N,), 0.5))
        reward.square().sum().backward()
        grads.append(start.grad)
        envs.detach()
    torch.testing.assert_close(*grads)
    assert grads[0].abs().min() > 0
    same_step(eager, compiled)


def test_random_numbers_of_python_cannot_be_compiled() -> None:
    class Dice(Slide):
        def dynamics(
            self, state: Tensor, action: Tensor
        ) -> tuple[Tensor, Tensor, Tensor]:
            return super().dynamics(state + random.uniform(0, 1), action)

    envs = Dice(compile=True)
    envs.reset(seed=0)
    with pytest.raises(Exception, match="it draws Python's random numbers"):
        envs.step(torch.zeros(N))


def test_they_pass_the_conformance_test(monkeypatch) -> None:
    """It makes nine of them: here traced, but not turned into code, which is long."""
    traced = functools.partial(torch.compile, backend="eager")
    compile_as = lambda function, **_: traced(function, fullgraph=True)  # noqa: E731
    monkeypatch.setattr(torch, "compile", compile_as)
    check(Slide(4, compile=True, max_episode_steps=20), steps=30)


def test_another_value_or_shape_of_a_parameter_is_seen(both) -> None:
    eager, compiled = both
    for force in (torch.tensor(0.25), 2.0, torch.arange(N) / N):
        eager.force = compiled.force = force
        same_step(eager, compiled)
