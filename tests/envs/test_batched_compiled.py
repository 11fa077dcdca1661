"""The compiled step: whatever comes in, it is the eager one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from gymnasium import spaces
from torch import Tensor
from worlds import blind

from yieldrl.envs.batched import TorchVectorEnv

N = 4

pytestmark = [
    pytest.mark.slow,  # they compile
    pytest.mark.filterwarnings("ignore:`torch.jit.script_method`"),  # PyTorch's own
]


class Slide(TorchVectorEnv):
    """A point that is pushed; how hard is a parameter."""

    single_observation_space = spaces.Box(-9, 9, (2,))
    single_action_space = spaces.Box(-1, 1, ())
    noise_size = 2

    def __init__(self, num_envs: int = N, force: Any = 1.0, **kwargs: Any) -> None:
        super().__init__(num_envs, **kwargs)
        self.force = self.parameter("force", force)

    def initial_state(self, noise: Tensor) -> Tensor:
        return noise - 0.5

    def dynamics(self, state: Tensor, action: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        state = state + self.force * action
        return state, state.sum(0), state[0].abs() > 2


def pair(**kwargs: Any) -> tuple[Slide, Slide]:
    """An eager and a compiled one, both reset and stepped once."""
    both = blind(Slide(**kwargs)), Slide(**kwargs, compile=True)
    for envs in both:
        envs.reset(seed=0)
    same_step(*both)
    return both


def same_step(eager: Slide, compiled: Slide) -> None:
    """Step both, and compare all that comes out."""
    action = torch.linspace(-1, 1, N, dtype=eager.dtype)
    these, those = eager.step(action), compiled.step(action)
    for this, that in zip(these[:4], those[:4], strict=True):
        torch.testing.assert_close(this, that)
    torch.testing.assert_close(these[4], those[4])
    torch.testing.assert_close(eager.state, compiled.state)


def compiles_of(envs: TorchVectorEnv, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A list that gets an entry whenever the usual way of compiling is taken."""
    taken: list[Any] = []
    usual = envs._step._in_bytes

    def counted(*tensors: Any) -> Any:
        taken.append(tensors)
        return usual(*tensors)

    monkeypatch.setattr(envs._step, "_in_bytes", counted)
    return taken


def test_steps_like_the_first_go_straight_to_the_code(monkeypatch) -> None:
    eager, compiled = pair()
    assert compiled._step._first is not compiled._step._in_bytes
    taken = compiles_of(compiled, monkeypatch)
    for _ in range(3):
        same_step(eager, compiled)
    assert not taken


def test_another_value_of_a_parameter_is_seen(monkeypatch) -> None:
    eager, compiled = pair()
    taken = compiles_of(compiled, monkeypatch)
    eager.force = compiled.force = torch.tensor(0.25)
    same_step(eager, compiled)
    assert not taken


def test_a_parameter_of_another_shape_is_compiled_for(monkeypatch) -> None:
    eager, compiled = pair()
    taken = compiles_of(compiled, monkeypatch)
    eager.force = compiled.force = torch.arange(N) / N
    same_step(eager, compiled)
    assert len(taken) == 1


def test_a_state_of_another_layout_is_compiled_for(monkeypatch) -> None:
    eager, compiled = pair()
    taken = compiles_of(compiled, monkeypatch)
    for envs in (eager, compiled):
        envs.state = torch.full((N, 2), 0.5).t()
    same_step(eager, compiled)
    assert len(taken) == 1


def test_gradients_flow_through_steps_after_one_without() -> None:
    eager, compiled = pair()
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


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # PyTorch's own
def test_gradients_flow_to_a_parameter_from_the_first_step_on() -> None:
    grads = []
    for compile_it in (False, True):
        force = torch.tensor(0.5, requires_grad=True)
        envs = Slide(force=force, compile=compile_it)
        envs.reset(seed=0)
        for _ in range(2):
            _, reward, *_ = envs.step(torch.ones(N))
        reward.sum().backward()
        grads.append(force.grad)
    torch.testing.assert_close(*grads)
    assert grads[0] == 4 * N  # two numbers, moved twice


def test_it_may_begin_without_gradients_and_go_on_with_them() -> None:
    with torch.no_grad():
        eager, compiled = pair()
    same_step(eager, compiled)


def test_float64_takes_the_usual_way() -> None:
    eager, compiled = pair(dtype=torch.float64)
    same_step(eager, compiled)
    assert compiled._step._first is compiled._step._in_bytes
    assert compiled.state.dtype == torch.float64


def test_an_error_in_the_dynamics_is_told() -> None:
    class Wrong(Slide):
        def dynamics(
            self, state: Tensor, action: Tensor
        ) -> tuple[Tensor, Tensor, Tensor]:
            if torch.compiler.is_compiling():
                state = state @ state
            return super().dynamics(state, action)

    envs = Wrong(compile=True)
    envs.reset(seed=0)
    with pytest.raises(Exception, match=r"mat1|matmul|shapes"):
        envs.step(torch.zeros(N))
