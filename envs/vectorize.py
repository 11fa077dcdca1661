"""Make a batch of single environments, and check that it is trainable."""

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
from gymnasium.spaces import Dict, Text
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv, VectorWrapper

from yieldrl.envs.processes import ProcessVectorEnv
from yieldrl.envs.serial import SerialVectorEnv
from yieldrl.foundations import Utf8Text, spaces
from yieldrl.foundations.named_code import import_named, is_function_of_user
from yieldrl.foundations.text import encoded

Wrap = Callable[[gym.Env], gym.Env]


def vectorize(
    make_one: Callable[[], gym.Env],
    count: int,
    mode: str,
    wrappers: Sequence[Wrap] = (),
    seed: int | None = None,
) -> VectorEnv:
    """A batch of `count` environments, each in the wrappers, the innermost first.

    With `async` each has a process, and `seed` is for its global generators.

    Raises:
        TypeError: If `make_one` does not make an environment.
        ImportError: If a package is missing.
    """

    def make_checked() -> gym.Env:
        env = make_one()
        if not isinstance(env, gym.Env):
            raise TypeError(
                f"envs made {env!r}: the function must return a gymnasium.Env (pass a"
                " vector environment itself, not a function)"
            )
        for wrap in wrappers:
            env = _wrapped_in(env, wrap)
        return EncodeText(env) if says_text(env.observation_space) else env

    try:
        if mode == "async":
            return ProcessVectorEnv([make_checked] * count, seed=seed)
        return SerialVectorEnv([make_checked] * count)
    except gym.error.DependencyNotInstalled as reason:
        mujoco = "mujoco" in str(reason).lower()
        remedy = " (pip install 'yieldrl[mujoco]')" if mujoco else ""
        text = f"the environment lacks a package: {reason}{remedy}"
        raise ImportError(text) from reason


def check(envs: VectorEnv) -> None:
    """Raise ValueError or TypeError if these environments cannot be trained in."""
    mode = envs.metadata.get("autoreset_mode")
    if not isinstance(mode, AutoresetMode):
        raise ValueError(
            f"{envs}: metadata['autoreset_mode'] = {mode!r}; a vector environment must"
            " say its gymnasium.vector.AutoresetMode, or bootstrapping would be wrong"
        )
    for name in ("observation", "action"):
        try:
            list(spaces.leaves(getattr(envs, f"single_{name}_space")))
        except TypeError as reason:
            raise TypeError(f"the environment's {name} {reason}") from None
    if isinstance(envs.single_action_space, Dict):
        raise TypeError(
            f"the environment's action space {envs.single_action_space} is not"
            " supported: use Box, Discrete, MultiDiscrete or MultiBinary"
        )
    if isinstance(envs, SyncVectorEnv) and len(games_inside(envs)) < envs.num_envs:
        raise ValueError(
            "several places of the batch got the same environment: the function that"
            " makes it must make a new one at each call"
        )


def games_inside(envs: VectorEnv) -> set[int]:
    """The `id()`s of the environments inside all wrappers."""
    return {id(env.unwrapped) for env in getattr(envs, "envs", [])}


def find_wrappers(names: Sequence[str]) -> list[Wrap]:
    """The wrappers of single environments named `module:Class`; ValueError if one is
    missing, or goes around batches."""
    return [_find_wrapper(name) for name in names]


def _find_wrapper(name: str) -> Wrap:
    module, _, attribute = name.partition(":")
    try:
        found = import_named(module, attribute)
    except (AttributeError, ImportError, ValueError) as reason:
        raise ValueError(
            f"wrappers: {name!r} names no wrapper ({reason}); name module:Class, for"
            " example gymnasium.wrappers:FlattenObservation"
        ) from None
    if isinstance(found, type) and issubclass(found, VectorWrapper):
        raise ValueError(
            f"wrappers: {name!r} goes around a whole batch, and these go around single"
            " environments: make the batch, and pass it in the wrapper as envs="
        )
    is_wrapper = isinstance(found, type) and issubclass(found, gym.Wrapper)
    if not (is_wrapper or is_function_of_user(found)):
        raise ValueError(
            f"wrappers: {name!r} is {found!r}: name a gymnasium.Wrapper, or a function"
            " of your own that returns an environment"
        )
    return found


def _wrapped_in(env: gym.Env, wrap: Wrap) -> gym.Env:
    name = f"{getattr(wrap, '__module__', '')}:{getattr(wrap, '__name__', wrap)}"
    try:
        wrapped = wrap(env)
    except TypeError as reason:
        raise TypeError(
            f"wrappers: {name} cannot be put around {env}: {reason}. It is called with"
            " the environment alone; write a function that gives it what else it needs"
        ) from reason
    if not isinstance(wrapped, gym.Env):
        raise TypeError(
            f"wrappers: {name} made {wrapped!r} of {env}: it must return an environment"
        )
    return wrapped


def refuse_wrappers(wrappers: Sequence[Wrap], name: str) -> None:
    """Raise ValueError if there are wrappers, which do not fit around a batch."""
    if wrappers:
        named = ", ".join(getattr(w, "__name__", str(w)) for w in wrappers)
        raise ValueError(
            f"wrappers = ({named}) go around single environments, and {name} is a batch"
            " in one object: set wrappers=(), and pass envs= with a wrapper of"
            " yieldrl.envs.wrappers around it if it needs one"
        )


class EncodeText(gym.ObservationWrapper, RecordConstructorArgs):
    """Gives the sentences of an environment's observations as their bytes in UTF-8, as
    `yieldrl.envs.make` does by itself. ValueError if its observations have no `Text`.
    """

    def __init__(self, env: gym.Env) -> None:
        RecordConstructorArgs.__init__(self)  # so that Gymnasium can make it again
        gym.ObservationWrapper.__init__(self, env)
        if not says_text(env.observation_space):
            raise ValueError(
                f"{env} says nothing: its observations {env.observation_space} have no"
                " gymnasium.spaces.Text. Leave EncodeText away"
            )
        self.observation_space = _in_bytes(env.observation_space)

    def observation(self, observation: Any) -> Any:
        try:
            return encoded(self.observation_space, observation)
        except (AttributeError, TypeError):
            raise TypeError(
                f"{self.env} returned the observation {observation!r}: where its space"
                f" {self.env.observation_space} has a Text, it must be a string"
            ) from None


def says_text(space: gym.Space) -> bool:
    """Whether a space has a `gymnasium.spaces.Text` leaf."""
    if isinstance(space, Dict):
        return any(says_text(child) for child in space.values())
    return isinstance(space, Text)


def _in_bytes(space: gym.Space) -> gym.Space:
    if isinstance(space, Dict):
        return Dict({name: _in_bytes(child) for name, child in space.items()})
    if not isinstance(space, Text):
        return space
    widest = max(len(letter.encode()) for letter in space.characters)
    return Utf8Text(space.max_length * widest)
