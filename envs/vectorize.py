"""Single environments as a batch, and whether a batch can be trained in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
from gymnasium.spaces import Dict
from gymnasium.vector import (
    AutoresetMode,
    SyncVectorEnv,
    VectorEnv,
)

from yieldrl.envs.processes import ProcessVectorEnv
from yieldrl.envs.serial import SerialVectorEnv
from yieldrl.envs.text import EncodeText, says_text
from yieldrl.envs.wrapping import Wrap, wrapped_in
from yieldrl.foundations import spaces

AnyVectorEnv = VectorEnv[Any, Any, Any]

MOST_OBJECTS = 2**14
"""Most environments that are objects, stepped one after the other."""

MOST_PROCESSES = 2**10
"""Most environments that have a process each."""


def vectorize(
    make_one: Callable[[], gym.Env[Any, Any]],
    count: int,
    mode: str,
    wrappers: Sequence[Wrap] = (),
    seed: int | None = None,
) -> AnyVectorEnv:
    """A batch of what a function makes, each in the wrappers, the innermost first.

    Args:
        make_one: Makes one environment.
        count: How many.
        mode: `async` for a process each.
        wrappers: Classes or functions, each called with an environment.
        seed: Of what processes draw from global generators.

    Raises:
        ValueError: If they are too many for objects, or processes, of their own.
        TypeError: If it makes something else than an environment.
        ImportError: If it lacks a package.
    """
    check_count(count, MOST_PROCESSES if mode == "async" else MOST_OBJECTS)

    def make_checked() -> gym.Env[Any, Any]:
        env = make_one()
        if not isinstance(env, gym.Env):
            raise TypeError(
                f"envs made {env!r}: the function must return a gymnasium.Env (pass a"
                " vector environment itself, not a function)"
            )
        for wrap in wrappers:
            env = wrapped_in(env, wrap)
        return EncodeText(env) if says_text(env.observation_space) else env

    try:
        if mode == "async":
            return ProcessVectorEnv([make_checked] * count, seed=seed)
        return SerialVectorEnv([make_checked] * count)
    except gym.error.DependencyNotInstalled as reason:
        mujoco = "mujoco" in str(reason).lower()
        remedy = " (pip install 'yieldrl[mujoco]')" if mujoco else ""
        raise ImportError(f"the environment lacks a package: {reason}{remedy}") from (
            reason
        )


def check(envs: AnyVectorEnv) -> None:
    """Raise ValueError or TypeError if these environments cannot be trained in."""
    mode = envs.metadata.get("autoreset_mode")
    if not isinstance(mode, AutoresetMode):
        raise ValueError(
            f"{envs}: metadata['autoreset_mode'] = {mode!r}; a vector environment must"
            " say its gymnasium.vector.AutoresetMode, or bootstrapping would be wrong"
        )
    observation, action = envs.single_observation_space, envs.single_action_space
    for name, space in (("observation", observation), ("action", action)):
        try:
            list(spaces.leaves(space))
        except TypeError as reason:
            raise TypeError(f"the environment's {name} {reason}") from None
    if isinstance(action, Dict):
        raise TypeError(
            f"the environment's action space {action} is not supported: use Box,"
            " Discrete, MultiDiscrete or MultiBinary"
        )
    if isinstance(envs, SyncVectorEnv) and len(games_inside(envs)) < envs.num_envs:
        raise ValueError(
            "several places of the batch got the same environment: the function that"
            " makes it must make a new one at each call"
        )


def games_inside(envs: AnyVectorEnv) -> set[int]:
    """The identities of the environments inside, below all wrappers."""
    return {id(env.unwrapped) for env in getattr(envs, "envs", [])}


def check_count(count: int, most: int) -> None:
    """Raise ValueError if more environments are asked for than there can be."""
    if count > most:
        raise ValueError(
            f"num_envs = {count}: of environments that are made one by one there can be"
            f" at most {most}; a world that is one batch of tensors takes more, for"
            " example yieldrl/CartPole-v1"
        )
