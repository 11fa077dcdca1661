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

CLASSIC = ("Acrobot", "MountainCarContinuous")
GAMES = ("Breakout", "Freeway", "Asterix", "SpaceInvaders", "Seaquest")


def pair(name: str, num_envs: int, **kwargs: Any) -> tuple[Any, Any]:
    """An eager and a compiled one, after the same reset."""
    env_id = f"yieldrl/{name}-v1"
    eager, compiled = (
        gymnasium.make_vec(env_id, num_envs, compile=flag, **kwargs)
        for flag in (False, True)
    )
    blind(eager).reset(seed=0)
    compiled.reset(seed=0)
    return eager, compiled


def assert_equal(these: Any, those: Any) -> None:
    """Everything that a step answered is the same, in dicts too."""
    if isinstance(these, dict):
        assert these.keys() == those.keys()
        these, those = list(these.values()), list(those.values())
    if isinstance(these, torch.Tensor):
        assert torch.equal(these, those)
        return
    for this, that in zip(these, those, strict=True):
        assert_equal(this, that)


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_cartpole(mode: AutoresetMode) -> None:
    kwargs = {"max_episode_steps": 30, "autoreset_mode": mode, "dtype": torch.float64}
    eager, compiled = pair("CartPole", 64, **kwargs)
    for _ in range(100):
        compiled.state = eager.state
        action = torch.randint(0, 2, (64,))
        these, those = eager.step(action), compiled.step(action)
        for x, y in zip(these[:4], those[:4], strict=True):
            torch.testing.assert_close(x, y)
        assert torch.equal(eager.elapsed, compiled.elapsed)
        torch.testing.assert_close(eager.state, compiled.state, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", CLASSIC)
def test_classic_control(name: str) -> None:
    eager, compiled = pair(name, 33, max_episode_steps=4)
    for _ in range(10):
        compiled.state = eager.state
        action = eager.action_space.sample()
        these, those = eager.step(action), compiled.step(action)
        for x, y in zip(these[:4], those[:4], strict=True):
            torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["Taxi"])
def test_tables(name: str) -> None:
    eager, compiled = pair(name, 33)
    for _ in range(30):
        action = eager.action_space.sample()
        (*these, info), (*those, other) = eager.step(action), compiled.step(action)
        info.pop("action_mask", None)  # compiled steps leave it out
        assert_equal([*these, info], [*those, other])


@pytest.mark.parametrize("name", GAMES)
def test_games(name: str) -> None:
    pytest.importorskip("minatar", reason="MinAtar is not installed")
    eager, compiled = pair(f"MinAtar-{name}", 33)
    for _ in range(60):
        action = eager.action_space.sample()
        assert_equal(eager.step(action), compiled.step(action))


def test_instructions() -> None:
    eager, compiled = pair("GoTo", 4, view="pixels")
    for action in (0, 1, 2, 3, 1, 2):
        actions = torch.full((4,), action)
        assert_equal(eager.step(actions), compiled.step(actions))
