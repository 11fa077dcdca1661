"""The worlds' compiled steps are their eager ones, whatever comes in.

They share a file, so that one process loads PyTorch's compiler, once.
"""

import functools

import gymnasium
import pytest
import torch
from gymnasium.vector import AutoresetMode
from worlds import Walk, blind

from yieldrl.envs import check

pytestmark = [
    pytest.mark.slow,  # they compile
    pytest.mark.filterwarnings("ignore:`torch.jit.script_method`"),  # PyTorch's own
]

NEXT_STEP = {"autoreset_mode": AutoresetMode.NEXT_STEP}


@pytest.mark.parametrize(
    ("name", "kwargs"),
    [
        ("CartPole", {"max_episode_steps": 9, "dtype": torch.float64}),
        ("CartPole", {"max_episode_steps": 9, "dtype": torch.float64, **NEXT_STEP}),
        ("Acrobot", {"max_episode_steps": 4}),
        ("MountainCarContinuous", {"max_episode_steps": 4}),
        ("Taxi", {}),
        ("MinAtar-Breakout", {}),
        ("MinAtar-Seaquest", {}),
        ("GoTo", {"view": "pixels"}),
    ],
)
def test_a_compiled_step_is_the_eager_one(name, kwargs):
    eager, compiled = (
        gymnasium.make_vec(f"yieldrl/{name}-v1", 33, compile=flag, **kwargs)
        for flag in (False, True)
    )
    blind(eager).reset(seed=0)
    compiled.reset(seed=0)
    ended = 0
    for _ in range(60):
        compiled.state = eager.state  # or rounding errors would grow
        action = eager.action_space.sample()
        (*these, info), (*those, other) = eager.step(action), compiled.step(action)
        info.pop("action_mask", None)  # compiled steps leave it out
        torch.testing.assert_close(
            [*those, other], [*these, info], rtol=1e-4, atol=1e-5
        )
        assert torch.equal(eager.elapsed, compiled.elapsed)
        ended += int((these[2] | these[3]).sum())
    assert ended or name in ("Taxi", "GoTo")


class Slide(Walk):
    """How hard it is pushed is a parameter."""

    def __init__(self, num_envs=4, force=1.0, **kwargs):
        super().__init__(num_envs, **kwargs)
        self.force = self.parameter("force", force)

    def dynamics(self, state, action):
        return super().dynamics(state, self.force * action)


def same_step(eager, compiled):
    """Step both, and compare all that comes out."""
    action = torch.linspace(-1, 1, 4)
    torch.testing.assert_close(eager.step(action), compiled.step(action))
    torch.testing.assert_close(eager.state, compiled.state)


def test_gradients_and_other_parameters_pass_after_a_step_without():
    both = blind(Slide()), Slide(compile=True)
    for envs in both:
        envs.reset(seed=0)
    same_step(*both)
    grads = []
    for envs in both:
        start = torch.full((2, 4), 0.1, requires_grad=True)
        envs.state = start
        _, reward, *_ = envs.step(torch.full((4,), 0.5))
        reward.square().sum().backward()
        grads.append(start.grad)
        envs.detach()
    torch.testing.assert_close(*grads)
    assert grads[0].abs().min() > 0
    same_step(*both)
    for force in (torch.tensor(0.25), 2.0, torch.arange(4) / 4):
        for envs in both:
            envs.force = force
        same_step(*both)


def test_they_pass_the_conformance_test(monkeypatch):
    """It makes nine of them: here traced, but not turned into code, which is long."""
    traced = functools.partial(torch.compile, backend="eager")
    compile_as = lambda function, **_: traced(function, fullgraph=True)  # noqa: E731
    monkeypatch.setattr(torch, "compile", compile_as)
    check(Slide(4, compile=True, max_episode_steps=20), steps=30)
