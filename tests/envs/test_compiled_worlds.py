"""The worlds' compiled steps are their eager ones.

They share a file, so that one process loads PyTorch's compiler, once.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest
import torch
from gymnasium.vector import AutoresetMode
from worlds import blind

import yieldrl.envs  # noqa: F401 (registers the environments)

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
def test_a_compiled_step_is_the_eager_one(name: str, kwargs: Any) -> None:
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
