"""One environment of a batch, for code that steps one at a time."""

import functools
import importlib
from collections.abc import Callable
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from torch import Tensor

from yieldrl.envs.arrays import ResetResult, StepResult, tree_map
from yieldrl.envs.experts import expert_actions


class SingleEnv(gym.Env):
    """A `TorchVectorEnv` of one as a plain Gymnasium environment of NumPy arrays, which
    `gymnasium.make` makes and other libraries can step. The time limit is left to
    Gymnasium's wrapper."""

    batch_class: ClassVar[Callable[..., VectorEnv]]

    def __init__(self, **kwargs: Any) -> None:
        kwargs = {"max_episode_steps": None, **kwargs}
        self.envs = self.batch_class(
            num_envs=1, autoreset_mode=AutoresetMode.DISABLED, **kwargs
        )
        self.metadata = dict(self.envs.metadata)
        del self.metadata["autoreset_mode"]
        self.observation_space = self.envs.single_observation_space
        self.action_space = self.envs.single_action_space
        self.render_mode = self.envs.render_mode

    def reset(self, *, seed: int | None = None, options: Any = None) -> ResetResult:
        super().reset(seed=seed)
        obs, info = self.envs.reset(seed=seed, options=options)
        return _alone(obs), _alone(info)

    def step(self, action: Any) -> StepResult:
        obs, reward, terminated, truncated, info = self.envs.step(np.array([action]))
        flags = bool(terminated[0]), bool(truncated[0])
        return _alone(obs), float(reward[0]), *flags, _alone(info)

    def render(self) -> Any:
        pictures = None if self.render_mode is None else self.envs.render()
        return pictures[0] if pictures else None

    def close(self) -> None:
        self.envs.close()


def _alone(batch: Any) -> Any:
    """Values of a batch of one as NumPy arrays and numbers, also in dicts."""
    return tree_map(
        lambda x: x[0].detach().cpu().numpy()[()] if isinstance(x, Tensor) else x, batch
    )


@functools.cache
def single(place: str) -> type[SingleEnv]:
    """The class of single environments of a batched one, at `module.Class` in `envs`.

    >>> single("classic_control.CartPole")().reset(seed=0)[0].shape
    (4,)
    """
    module, _, name = place.rpartition(".")
    home = importlib.import_module(f"yieldrl.envs.{module}")
    batch = getattr(home, f"{name}VectorEnv")
    # Those of `hidden_worlds` are functions that make one in a wrapper.
    world = batch.args[0] if isinstance(batch, functools.partial) else batch
    attributes: dict[str, Any] = {
        "batch_class": staticmethod(batch),
        "metadata": world.metadata,
        "__doc__": world.__doc__,
    }
    if hasattr(world, "expert"):
        attributes["expert"] = lambda env: _alone(expert_actions(env.envs))
    return type(f"{name}Env", (SingleEnv,), attributes)


def __getattr__(place: str) -> Any:
    """Classes by the names used in Gymnasium's registry."""
    if "." not in place:
        raise AttributeError(f"module {__name__!r} has no attribute {place!r}")
    return single(place)
